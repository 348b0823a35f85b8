import type { ShareToken } from "../storage/share-token.ts";

/** What a token of a run, a trace or a thread opens, and whose it is. */
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

/** A thread is named by its project and by the text that the metadata of its root runs have. */
export interface SharedThread {
  readonly projectId: string;
  readonly threadId: string;
}

export interface ShareReads {
  /** What a token opens; `undefined` where it leads nowhere. */
  find(token: string): SharedScope | undefined;
  /** By root run: the tokens of their whole traces. */
  ofTraces(tenantId: string, rootIds: readonly string[]): ReadonlyMap<string, ShareToken>;
  /** The token of a whole thread. */
  ofThread(tenantId: string, thread: SharedThread): ShareToken;
}

/** Shares of more than one run. Those of one run alone are made by `runs.share`, and have tokens of their own. */
export interface ShareWrites {
  /**
   * The token under which anyone may read all runs of the trace; the same one when repeated.
   *
   * @throws RequestError 404: its root run is not there.
   */
  shareTrace(tenantId: string, rootId: string): string;
  unshareTrace(tenantId: string, rootId: string): void;
  /**
   * The token under which anyone may read all runs of the thread's traces, those to come too; the same one when
   * repeated.
   *
   * @throws RequestError 404: no such project.
   */
  shareThread(tenantId: string, thread: SharedThread): string;
  unshareThread(tenantId: string, thread: SharedThread): void;
}
