import { AsyncLocalStorage } from "node:async_hooks";

/** The request on whose behalf the store is read. */
export interface ReadScope {
  /** Reader threads are shared fairly between tenants. Empty for requests without an access key. */
  readonly tenantId: string;
  /** Aborted when the client disconnects, which ends its queries. */
  readonly signal: AbortSignal;
}

const scopes = new AsyncLocalStorage<ReadScope>();

/** Calls `work`. All reads within it, and within what it starts, get this scope. */
export const runInReadScope = <Result>(scope: ReadScope, work: () => Result): Result =>
  scopes.run(scope, work);

/** The scope of the current read; `undefined` where the server itself reads. */
export const currentReadScope = (): ReadScope | undefined => scopes.getStore();
