/** Several records (starts and ends of runs) that are written to disk together. */
export interface StoredRecords {
  /** A sequence of records in the byte format of `tape-format.ts`. */
  readonly body: Uint8Array;
  readonly count: number;
  /**
   * Whether a worker also has these records. If so, only the worker counts the matches that redaction rules mask in
   * them.
   */
  readonly isCopy: boolean;
}
