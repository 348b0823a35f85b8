/** Counts of records, as in `stats()`, that a client reports to servers that request them for their UI. */
export interface SenderReport {
  /** Made anew for each client. */
  readonly id: string;
  /** Where its runs are filed when they name no project. */
  readonly project: string;
  readonly pid: number;
  /** Of the SDK. */
  readonly version: string;
  readonly accepted: number;
  readonly delivered: number;
  readonly rejected: number;
  readonly dropped: number;
  readonly spooled: number;
  readonly pending: number;
}
