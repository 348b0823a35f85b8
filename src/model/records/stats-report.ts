/**
 * Counts of a client's records (starts and ends of runs), as `stats()` returns them. The client reports them to a
 * server that shows them in its UI.
 */
export interface StatsReport {
  /** A random id, created for each client. */
  readonly id: string;
  /** Name of the client's default project. */
  readonly project: string;
  readonly pid: number;
  /** Version of the SDK. */
  readonly version: string;
  readonly accepted: number;
  readonly delivered: number;
  readonly rejected: number;
  readonly dropped: number;
  readonly spooled: number;
  readonly pending: number;
}
