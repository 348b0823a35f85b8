import { AsyncLocalStorage } from "node:async_hooks";

/** The request for which the store is read. */
export interface ReadScope {
  /**
   * The tenant of the request; empty for requests without an access key. Tenants take turns in using the reader
   * threads.
   */
  readonly tenantId: string;
  /** Whether the connection of the client is closed, so that nothing needs to be read for it. */
  readonly isClosed: boolean;
  /**
   * Calls a listener once the connection is closed. Returns the function that removes the listener. There is no
   * `AbortSignal`, because creating and aborting one takes longer than everything else that a request does for a
   * query.
   */
  onClose(listener: () => void): () => void;
}

const scopeStorage = new AsyncLocalStorage<ReadScope>();

/** Calls `work`. All reads within it, and within everything that it starts, belong to this scope. */
export const runInReadScope = <Result>(scope: ReadScope, work: () => Result): Result =>
  scopeStorage.run(scope, work);

/** Returns the scope of the current read; `undefined` for a read of the server itself. */
export const currentReadScope = (): ReadScope | undefined => scopeStorage.getStore();
