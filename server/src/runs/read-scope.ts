import { AsyncLocalStorage } from "node:async_hooks";

/** Whom reads are made for. */
export interface ReadScope {
  /** Threads are shared fairly between tenants; empty where no key was asked for. */
  readonly tenantId: string;
  /** Ends the queries of a client that has left. */
  readonly signal: AbortSignal;
}

const scopes = new AsyncLocalStorage<ReadScope>();

/** Makes the scope that of every read within a call, and of what it starts. */
export const runInReadScope = <Result>(scope: ReadScope, work: () => Result): Result =>
  scopes.run(scope, work);

/** The scope of the read at hand; `undefined` where the server itself reads. */
export const currentReadScope = (): ReadScope | undefined => scopes.getStore();
