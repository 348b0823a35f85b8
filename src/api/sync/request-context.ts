import { AsyncLocalStorage, executionAsyncResource } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";

const inRequest = new AsyncLocalStorage<true>();
let isWatching = false;

/**
 * Marks the asynchronous context of each later request to an HTTP server of this process, so that
 * {@link isHandlingRequest} recognizes it. Further calls have no effect.
 */
export function watchRequests(): void {
  if (!isWatching) {
    isWatching = true;
    // Node publishes this event for http and https servers, in the asynchronous context that then handles the
    // request.
    subscribe("http.server.request.start", () => inRequest.enterWith(true));
  }
}

/**
 * Whether the caller runs as part of handling an HTTP request. A request that began before {@link watchRequests} was
 * called is recognized only until its handler first awaits something.
 */
export const isHandlingRequest = (): boolean =>
  inRequest.getStore() === true ||
  executionAsyncResource().constructor.name === "HTTPServerAsyncResource";
