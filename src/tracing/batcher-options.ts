import type { OverflowPolicy } from "../model/keeping-options.ts";
import type { AttachmentRules } from "./attachment-writer.ts";
import type { Hiding } from "./hiding.ts";
import type { Ledger } from "./ledger.ts";
import type { TapeResult } from "./shipment.ts";
import type { Journal, Tape } from "./tape.ts";

/** What a batcher is made with. */
export interface BatcherOptions {
  readonly tapeBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  /** Bytes of one field of a record; what is beyond is cut. */
  readonly fieldBytes: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  /** Tapes under way at once. */
  readonly slots: number;
  readonly hiding: Hiding;
  readonly attachments: AttachmentRules;
  readonly ledger: Ledger;
  /** What gives way at the queue's bound. */
  readonly overflow: OverflowPolicy;
  /** Writes a waiting tape to the spool, for the policy `spool`, and counts its records. */
  readonly spill: (tape: Tape) => TapeResult;
  /** With it each record is written to disk before the call that made it returns. */
  readonly journal?: () => Journal;
  /** Sends a tape; settles when the outcome of each of its records is known. Never rejects. */
  readonly ship: (tape: Tape) => Promise<TapeResult>;
}

/** How long a flush waits, and for what. */
export interface FlushLimits {
  /** @defaultValue `all` */
  readonly which?: "all" | "recorded";
  /** Settles when there is nothing left to wait for. */
  readonly hopeless?: Promise<void> | undefined;
}
