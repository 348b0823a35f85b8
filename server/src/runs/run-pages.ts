import type { LinkSigner } from "../http/signed-links.ts";
import type { RunSearch, SearchSlice } from "./run-list.ts";
import type { RunQuery } from "./run-query.ts";
import type { TraceQuery } from "./trace.ts";

/**
 * Selects the data of runs that a page contains. A view is a plain object, so that it can be sent to another thread.
 */
export interface PageView {
  /** The members to return; all of them if absent. */
  readonly select?: ReadonlySet<string> | undefined;
  /** Signs the URLs of attachments. */
  readonly signer: LinkSigner;
}

/**
 * Queries whose result is JSON, which is sent to the client unchanged. The reader thread writes the JSON: copying the
 * runs of a page between threads takes as long as reading them, and a long page would block the thread that serves
 * HTTP.
 */
export interface RunPageReads {
  /** Returns the response to `POST /runs/query`. */
  query(tenantId: string, query: RunQuery, view: PageView): Promise<Uint8Array>;
  /** Like `RunListReads.search`, but returns a list item as JSON for each run. */
  search(
    tenantId: string,
    search: RunSearch,
    select: ReadonlySet<string>,
  ): Promise<SearchSlice<string>>;
  readTrace(tenantId: string, query: TraceQuery): Promise<TraceLine>;
}

/** A line of the response to `GET /ui/traces/{id}`. */
export interface TraceLine {
  /** JSON that ends with a line feed. */
  readonly json: Uint8Array;
  readonly runCount: number;
  /** The id after which the next line begins; absent on the last page. */
  readonly next?: string;
}
