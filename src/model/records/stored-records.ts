/** Several records that are written to disk together. */
export interface StoredRecords {
  /** A sequence of records in the byte format of `tape-format.ts`. */
  readonly body: Uint8Array;
  readonly count: number;
  /**
   * Whether this is a copy of records that a worker also has. The worker then counts what is
   * masked.
   */
  readonly isCopy: boolean;
}
