/** Several records that are written to disk at once. */
export interface StoredRecords {
  /** One after another, as on a tape. */
  readonly body: Uint8Array;
  readonly count: number;
  /** Whether a worker has the records themselves: what is masked in the copy is counted there. */
  readonly isCopy: boolean;
}
