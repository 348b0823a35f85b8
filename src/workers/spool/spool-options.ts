import type { SpoolFaultKind } from "./spool-reading.ts";
import type { SpoolFileSystem } from "./spool-segment.ts";

/** Options of `Spool` and `DeadLetters`. */
export interface SpoolOptions {
  readonly folder: string;
  /** Maximum bytes on disk. If it would be exceeded, the oldest segments, which are files of the spool, are deleted. */
  readonly quotaBytes: number;
  /** Milliseconds between two flushes to disk with fsync. With 0 each write is flushed. */
  readonly syncMs: number;
  /** Called for records that were removed before they were sent. */
  readonly onLost: (loss: SpoolLoss) => void;
  /** Called for faults that do not lose records by themselves. */
  readonly onFault: (kind: SpoolFaultKind, message: string) => void;
  /**
   * Masks confidential data in place before records are written. If it throws, nothing is written. If `isCopy` is true,
   * masked matches must not be counted, because the worker that has the original records counts them.
   */
  readonly maskRecords?: (records: Uint8Array, isCopy: boolean) => void;
  /** @defaultValue the file system */
  readonly fileSystem?: SpoolFileSystem;
}

/** Records that were removed from the spool before they were sent. */
export interface SpoolLoss {
  /** `evicted`: deleted because of the quota. `gone`: the file disappeared or can't be read. */
  readonly cause: "evicted" | "gone";
  /** Number of removed records that this process wrote and counted as spooled. */
  readonly ownRecordCount: number;
  /** Number of removed records that earlier processes wrote and that this process has not counted yet. */
  readonly inheritedRecordCount: number;
}

/** The records do not fit into the spool's quota. */
export class SpoolFull extends Error {
  constructor(bytes: number, quotaBytes: number) {
    super(`${bytes} bytes do not fit into the spool's quota of ${quotaBytes} bytes`);
  }
}
