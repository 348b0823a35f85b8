import type { Payload } from "../workload.ts";

/** What became of the runs that were passed to a client so far, counted in runs. */
export interface DriverStats {
  /** Passed to the client and not acknowledged by the server yet. */
  readonly pending: number;
  /** Lost for any reason, as far as the client reports it. */
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
  readonly aheadRuns?: number;
  /** Starts a run with the payload's inputs, as a child of `parent` or as the root of a new trace. */
  start(parent: Handle | undefined, payload: Payload): Handle;
  /** Ends a run with the payload's outputs. */
  end(handle: Handle, payload: Payload): void;
  /** The id under which the server must have received the run; empty if the driver sends nothing. */
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
