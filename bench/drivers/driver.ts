import type { Payload } from "../workload.ts";

/** Numbers of runs that have been passed to a client, by what became of them. */
export interface DriverStats {
  /** Runs that the server has not acknowledged yet. */
  readonly pending: number;
  /** Runs that the client reports as lost, for any reason. */
  readonly lost: number;
}

/**
 * A measured client. Everything that happens in these methods, and on the event loop after them, counts as the client's
 * cost.
 */
export interface Driver<Handle = unknown> {
  /**
   * Maximum number of unacknowledged runs, if the client loses runs beyond a limit of its own. Absent if the limit of the
   * harness is low enough.
   */
  readonly maxUnacknowledgedRuns?: number;
  /** Starts a run with the payload's inputs, as a child of `parent` or as the root of a new trace. */
  start(parent: Handle | undefined, payload: Payload): Handle;
  /** Ends a run with the payload's outputs. */
  end(handle: Handle, payload: Payload): void;
  /** The id with which the server must receive the run. It is empty if the driver sends nothing. */
  id(handle: Handle): string;
  stats(): DriverStats;
  /** Resolves when all runs that ended before the call are acknowledged or lost. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface DriverInit {
  /** Base address of the sink. */
  readonly endpoint: string;
  /** Maximum number of runs in one request, for clients that do not limit the bytes of a request. */
  readonly requestRuns: number;
  /** Whether the queue must hold millions of runs. Ignored for clients without such an option. @defaultValue false */
  readonly hasLargeQueue?: boolean;
}

export type CreateDriver = (init: DriverInit) => Driver;
