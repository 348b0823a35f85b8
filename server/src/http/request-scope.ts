import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { RequestKey } from "./author.ts";
import type { PendingAudit } from "../model/audit-entry.ts";

/** The part of a request that is needed to run queries for it. */
export interface ScopedRequest {
  /** The tenant of the request; empty for requests without an access key. */
  readonly tenantId: string;
  readonly raw: { readonly socket: Socket };
  /** The headers, from which the author of a write is read. Absent for a request that only reads. */
  readonly headers?: IncomingHttpHeaders;
  readonly apiKey?: RequestKey | null;
  /** The audit log entry of the request, which its first write stores in its own transaction. */
  readonly audit?: PendingAudit | undefined;
}

/** A store that runs queries for the server itself, and that can create a store for one request. */
export interface RequestScoped<Store> {
  /**
   * Returns a store of the same data for one request: its queries take turns with those of other tenants, and are
   * canceled when the client disconnects.
   */
  forRequest(request: ScopedRequest): Store;
}

/** Returns a copy of the dependencies that contains the store for one request. */
export const scopeToRequest = <Store extends RequestScoped<Store>, Dependencies extends object>(
  dependencies: Dependencies & { readonly store: Store },
  request: ScopedRequest,
): Dependencies & { readonly store: Store } => ({
  ...dependencies,
  store: dependencies.store.forRequest(request),
});

/** The properties of a request that the store needs to run queries for that request. */
export interface ReadScope {
  /** The tenant of the request. Tenants take turns in using the reader threads. */
  readonly tenantId: string;
  /** Whether the connection of the client is closed, so that nothing needs to be read for it. */
  readonly isClosed: boolean;
  /** Calls a listener once the connection is closed. Returns the function that removes the listener. */
  onClose(listener: () => void): () => void;
}

/**
 * The scope of a request. It is passed from the routes to the store. An `AsyncLocalStorage` would make every promise of
 * the thread slower on Node 20 and 22; it took a fifth of the CPU time of a small request.
 */
export class RequestScope implements ReadScope {
  readonly tenantId: string;
  readonly #socket: Socket;

  constructor({ tenantId, raw: { socket } }: Pick<ScopedRequest, "tenantId" | "raw">) {
    this.tenantId = tenantId;
    this.#socket = socket;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  onClose(listener: () => void): () => void {
    const listeners = listenForClose(this.#socket);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
}

const listenersBySocket = new WeakMap<Socket, Set<() => void>>();

/** Adds only one listener to each socket, because a socket may carry many requests, each with many queries. */
function listenForClose(socket: Socket): Set<() => void> {
  const existingListeners = listenersBySocket.get(socket);
  if (existingListeners !== undefined) {
    return existingListeners;
  }
  const listeners = new Set<() => void>();
  listenersBySocket.set(socket, listeners);
  socket.once("close", () => listeners.forEach((listener) => listener()));
  return listeners;
}
