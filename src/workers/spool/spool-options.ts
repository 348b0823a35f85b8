import type { SpoolTrouble } from "./spool-reading.ts";
import type { SpoolDisk } from "./spool-segment.ts";

export interface SpoolOptions {
  readonly folder: string;
  /** Most bytes on disk; beyond it the oldest segments go. */
  readonly quotaBytes: number;
  /** How often what was written is forced onto the disk; 0 does it at each write. */
  readonly syncMs: number;
  /** Called for records that were removed before they were sent. */
  readonly onLost: (loss: SpoolLoss) => void;
  /** Called for faults that lose no record by themselves. */
  readonly onTrouble: (kind: SpoolTrouble, message: string) => void;
  /**
   * Masks in place what must not be on disk, before records are written. Throws where it can't: nothing is
   * written then. Of a copy what is masked is counted by the worker that has the records.
   */
  readonly protect?: (records: Uint8Array, isCopy: boolean) => void;
  /** @defaultValue the file system */
  readonly disk?: SpoolDisk;
}

export interface SpoolLoss {
  readonly why: "evicted" | "gone";
  /** Records that this process had counted as spooled. */
  readonly own: number;
  /** Records of earlier processes, counted nowhere yet. */
  readonly inherited: number;
}

/** The spool's quota does not hold what is to be written. */
export class SpoolFull extends Error {
  constructor(bytes: number, quotaBytes: number) {
    super(`${bytes} bytes are more than the spool's quota of ${quotaBytes} leaves`);
  }
}
