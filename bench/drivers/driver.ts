import type { Payload } from "../workload.ts";

/** What a client did with the runs it was given so far, in runs. */
export interface DriverStats {
  /** Given to the client and not acknowledged by the server yet. */
  readonly pending: number;
  /** Given up, for whatever reason, as far as the client says so. */
  readonly lost: number;
}

/**
 * A client under measurement. Everything that happens inside these methods, and on the event loop
 * after them, counts as the client's cost.
 */
export interface Driver<Handle = unknown> {
  /**
   * How many runs the program may be ahead of the server, where the client has a limit of its own
   * beyond which it loses. Absent where the harness's own limit does.
   */
  readonly aheadRuns?: number;
  /** Starts a run with the payload's inputs, below `parent` or as the root of a new trace. */
  start(parent: Handle | undefined, payload: Payload): Handle;
  /** Ends it with the payload's outputs. */
  end(handle: Handle, payload: Payload): void;
  /** The id under which the server must have seen it; empty where nothing is sent. */
  id(handle: Handle): string;
  stats(): DriverStats;
  /** Resolves when all that was ended before is acknowledged, or lost. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface DriverInit {
  /** Base address of the sink. */
  readonly endpoint: string;
  /** Runs in one request, for clients that do not look at bytes: 100, or what the wire's limit takes. */
  readonly requestRuns: number;
  /** Room for millions of runs that wait, where the client can be told; else its default. */
  readonly roomy?: boolean;
}

export type CreateDriver = (init: DriverInit) => Driver;
