import type { LinkSigner } from "../http/signed-links.ts";
import type { RunSearch, SearchSlice } from "./run-list.ts";
import type { RunQuery } from "./run-query.ts";
import type { TraceQuery } from "./trace.ts";

/** What to return of each run of a page, as plain data, which can be sent to another thread. */
export interface PageView {
  /** The members to return; all of them if absent. */
  readonly select?: ReadonlySet<string> | undefined;
  /** Signs the URLs of attachments. */
  readonly signer: LinkSigner;
}

/**
 * Queries that return JSON, which is sent as it is. The reader thread writes it: copying the runs of a page between
 * threads takes as long as reading them, and a long page would block the thread that serves HTTP.
 */
export interface RunPageReads {
  /** The response to `POST /runs/query`. */
  query(tenantId: string, query: RunQuery, view: PageView): Promise<Uint8Array>;
  /** Like `RunListReads.search`, with a list item in JSON for each run. */
  search(
    tenantId: string,
    search: RunSearch,
    select: ReadonlySet<string>,
  ): Promise<SearchSlice<string>>;
  /** The response to `GET /ui/traces/{id}`. */
  trace(tenantId: string, query: TraceQuery): Uint8Array;
}
