import { toMillraceVariables } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** What happens when the limit of the queue is reached. */
export type OverflowPolicy = "drop-newest" | "drop-oldest" | "block" | "spool";

/**
 * All overflow policies.
 * @internal
 */
export const overflowPolicies: readonly OverflowPolicy[] = [
  "drop-newest",
  "drop-oldest",
  "block",
  "spool",
];

/** Where a record (the start or end of a run) is stored when the call that recorded it returns. */
export type Durability = "memory" | "spool-first";

const durabilities: readonly Durability[] = ["memory", "spool-first"];

/** Options for records (starts and ends of runs) that can't be sent yet: how many are kept, and where. */
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

/** The rows of the option table for {@link KeepingOptions}. */
export const keepingOptionRows: { readonly [Name in keyof KeepingOptions]: OptionRow } = {
  maxFieldBytes: {
    kind: "number",
    fallback: 16 * mebibyte,
    min: 1_024,
    max: 256 * mebibyte,
    env: toMillraceVariables("MAX_FIELD_BYTES"),
    doc: "Largest size of one field of a run (inputs, outputs, ...) in bytes, and at most a quarter of `maxQueueBytes`. Longer content is truncated, with a marker.",
  },
  maxQueueBytes: {
    kind: "number",
    // A burst of 15,000 runs of 5.5 kB, recorded before the first response, takes 83 MB of the queue
    // (bench/RESULTS.md).
    fallback: 128 * mebibyte,
    min: 65_536,
    max: 65_536 * mebibyte,
    env: toMillraceVariables("MAX_QUEUE_BYTES"),
    doc: "Memory for records that are queued or being sent, in bytes; beyond it `overflow` applies. Half of it is for tapes that are being sent: in a small queue tapes are smaller than `tapeBytes`, and fewer are sent at the same time.",
  },
  maxQueueRecords: {
    kind: "number",
    fallback: 1_000_000,
    min: 1,
    max: 1_000_000_000,
    env: toMillraceVariables("MAX_QUEUE_RECORDS"),
    doc: "Number of records that may be queued or being sent; beyond it `overflow` applies.",
  },
  overflow: {
    kind: "choice",
    fallback: "drop-newest",
    choices: overflowPolicies,
    env: toMillraceVariables("OVERFLOW"),
    doc: "What happens when the queue is full: new records are dropped (drop-newest), the oldest queued records are dropped (drop-oldest), callers of waitForCapacity wait (block), or records go to disk (spool, requires spoolDir).",
  },
  spoolDir: {
    kind: "text",
    fallback: undefined,
    env: toMillraceVariables("SPOOL_DIR"),
    doc: "Folder for records that could not be delivered. They are sent when the server is available again, by this client or the next one with this folder. Also stores records that the server refused.",
  },
  durability: {
    kind: "choice",
    fallback: "memory",
    choices: durabilities,
    env: toMillraceVariables("DURABILITY"),
    doc: "Where a record is stored when the call that recorded it returns: in memory, or in spoolDir (spool-first), where it survives the process.",
  },
  spoolQuotaBytes: {
    kind: "number",
    fallback: 1_024 * mebibyte,
    min: 65_536,
    max: 1_048_576 * mebibyte,
    env: toMillraceVariables("SPOOL_QUOTA_BYTES"),
    doc: "Largest number of bytes that one client keeps in spoolDir; beyond it the oldest records are deleted and counted as lost.",
  },
  spoolSyncMs: {
    kind: "number",
    fallback: 500,
    min: 0,
    max: 60_000,
    env: toMillraceVariables("SPOOL_SYNC_MS"),
    doc: "Milliseconds between two flushes of spooled records to disk (fsync). With 0 each write is flushed at once, and completes only after that.",
  },
  replayBytesPerSecond: {
    kind: "number",
    fallback: 8 * mebibyte,
    min: 1_024,
    max: 1_024 * mebibyte,
    env: toMillraceVariables("REPLAY_BYTES_PER_SECOND"),
    doc: "Largest rate at which spooled records are sent again, in bytes per second.",
  },
};
