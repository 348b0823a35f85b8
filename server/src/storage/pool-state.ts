/** The state of the connections that are used for one purpose. */
export interface PoolState {
  /** Maximum number of open connections. */
  readonly size: number;
  readonly open: number;
  readonly busy: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}
