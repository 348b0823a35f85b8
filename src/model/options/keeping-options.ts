import { own } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** What gives way when the queue's bound is reached. */
export type OverflowPolicy = "drop-newest" | "drop-oldest" | "block" | "spool";

/** Every one of them. @internal */
export const overflowPolicies: readonly OverflowPolicy[] = [
  "drop-newest",
  "drop-oldest",
  "block",
  "spool",
];

/** Where a record is when the call that made it returns. */
export type Durability = "memory" | "spool-first";

const durabilities: readonly Durability[] = ["memory", "spool-first"];

/** The options that say what is kept of records that can't be sent now, and where. */
export interface KeepingOptions {
  readonly maxFieldBytes: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  readonly overflow: OverflowPolicy;
  readonly spoolDir: string | undefined;
  readonly durability: Durability;
  readonly spoolQuotaBytes: number;
  readonly spoolSyncMs: number;
  readonly replayBytesPerSecond: number;
}

const mebibyte = 1_048_576;

export const keepingRows: { readonly [Name in keyof KeepingOptions]: OptionRow } = {
  maxFieldBytes: {
    kind: "number",
    fallback: 16 * mebibyte,
    min: 1_024,
    max: 256 * mebibyte,
    env: own("MAX_FIELD_BYTES"),
    doc: "Size of one field of a run (inputs, outputs, ...), and at most a quarter of `maxQueueBytes`; what is beyond is cut and marked.",
  },
  maxQueueBytes: {
    kind: "number",
    // A burst of 15,000 runs of 5.5 kB, recorded before the first answer, is 83 MB on tapes (bench/RESULTS.md).
    fallback: 128 * mebibyte,
    min: 65_536,
    max: 65_536 * mebibyte,
    env: own("MAX_QUEUE_BYTES"),
    doc: "Memory for records that wait or are under way; beyond it `overflow` decides. Half of it is for tapes under way: in a small queue tapes are smaller than `tapeBytes`, and fewer may be under way.",
  },
  maxQueueRecords: {
    kind: "number",
    fallback: 1_000_000,
    min: 1,
    max: 1_000_000_000,
    env: own("MAX_QUEUE_RECORDS"),
    doc: "Records that may be waiting or under way; beyond it `overflow` decides.",
  },
  overflow: {
    kind: "choice",
    fallback: "drop-newest",
    choices: overflowPolicies,
    env: own("OVERFLOW"),
    doc: "What gives way at the queue's bound: new records, the oldest that wait, callers of waitForCapacity (block), or memory for disk (spool, with spoolDir).",
  },
  spoolDir: {
    kind: "text",
    fallback: undefined,
    env: own("SPOOL_DIR"),
    doc: "Folder for what could not be delivered; sent when the server is back, by this client or the next with that folder. Also for what the server refused.",
  },
  durability: {
    kind: "choice",
    fallback: "memory",
    choices: durabilities,
    env: own("DURABILITY"),
    doc: "Where a record is when the call that made it returns: in memory, or written to spoolDir, where it survives the process.",
  },
  spoolQuotaBytes: {
    kind: "number",
    fallback: 1_024 * mebibyte,
    min: 65_536,
    max: 1_048_576 * mebibyte,
    env: own("SPOOL_QUOTA_BYTES"),
    doc: "Most bytes that one client keeps in spoolDir; beyond it the oldest go and are counted.",
  },
  spoolSyncMs: {
    kind: "number",
    fallback: 500,
    min: 0,
    max: 60_000,
    env: own("SPOOL_SYNC_MS"),
    doc: "How often what was spooled is forced onto the disk (fsync); 0 does it at each write, and waits for it.",
  },
  replayBytesPerSecond: {
    kind: "number",
    fallback: 8 * mebibyte,
    min: 1_024,
    max: 1_024 * mebibyte,
    env: own("REPLAY_BYTES_PER_SECOND"),
    doc: "How fast what was spooled is sent again, at most.",
  },
};
