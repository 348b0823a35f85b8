/** What a client tells a server that asks for it, for its page: counts of records, as in `stats()`. */
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
