import { AsyncLocalStorage } from "node:async_hooks";

/** The request on whose behalf the store is read. */
export interface ReadScope {
  /**
   * The tenant of the request; empty for requests without an access key. Tenants take turns in using the reader
   * threads.
   */
  readonly tenantId: string;
  /** Whether the connection of the client is closed, so that nothing needs to be read for it. */
  readonly isClosed: boolean;
  /**
   * Calls a listener once the connection is closed. Returns the function that removes the listener. It is not an
   * `AbortSignal`, because creating and aborting one takes longer than all other work of a request for a query.
   */
  onClose(listener: () => void): () => void;
}

const scopes = new AsyncLocalStorage<ReadScope>();

/** Calls `work`. All reads within it, and within what it starts, get this scope. */
export const runInReadScope = <Result>(scope: ReadScope, work: () => Result): Result =>
  scopes.run(scope, work);

/** The scope of the current read; `undefined` where the server itself reads. */
export const currentReadScope = (): ReadScope | undefined => scopes.getStore();
