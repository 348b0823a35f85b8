import type { ShareToken } from "../storage/share-token.ts";

/** The runs to which a share token gives access, and the tenant that owns them. */
export type SharedScope =
  | {
      readonly kind: "run";
      readonly tenantId: string;
      readonly runId: string;
    }
  | {
      readonly kind: "trace";
      readonly tenantId: string;
      readonly traceId: string;
    }
  | ({ readonly kind: "thread"; readonly tenantId: string } & SharedThread);

/** Identifies a thread by its project and by the thread id in the metadata of its root runs. */
export interface SharedThread {
  readonly projectId: string;
  readonly threadId: string;
}

export interface ShareReads {
  /** Finds the scope of a token; `undefined` if nothing is shared with this token. */
  find(token: string): Promise<SharedScope | undefined>;
  /** Finds the tokens of whole traces, by the ids of their root runs. */
  findTraceTokens(
    tenantId: string,
    rootIds: readonly string[],
  ): Promise<ReadonlyMap<string, ShareToken>>;
  /** Finds the token of a whole thread. */
  findThreadToken(tenantId: string, thread: SharedThread): Promise<ShareToken>;
}

/**
 * Writes shares of traces and threads. Shares of a single run are created by `runs.share` and have tokens of their
 * own.
 */
export interface ShareWrites {
  /**
   * Shares a trace: anyone who has the token can read all of its runs. Repeating the call returns the same token.
   *
   * @throws RequestError 404: the root run does not exist.
   */
  shareTrace(tenantId: string, rootId: string): Promise<string>;
  unshareTrace(tenantId: string, rootId: string): Promise<void>;
  /**
   * Shares a thread: anyone who has the token can read all runs of its traces, including future ones. Repeating the
   * call returns the same token.
   *
   * @throws RequestError 404: no such project.
   */
  shareThread(tenantId: string, thread: SharedThread): Promise<string>;
  unshareThread(tenantId: string, thread: SharedThread): Promise<void>;
}
