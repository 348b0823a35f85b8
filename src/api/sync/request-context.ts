import { AsyncLocalStorage, executionAsyncResource } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";

const inRequest = new AsyncLocalStorage<true>();
let isWatching = false;

/**
 * Has the requests of this process's HTTP servers marked from now on, with all that they start. Costs
 * nothing before the first call; later ones change nothing.
 */
export function watchRequests(): void {
  if (!isWatching) {
    isWatching = true;
    // Published where the request is then handled, by http and https servers alike.
    subscribe("http.server.request.start", () => inRequest.enterWith(true));
  }
}

/**
 * Whether the caller handles a request. One that was under way before {@link watchRequests} is known
 * only as long as its handler did not wait for anything; those after it always.
 */
export const isHandlingRequest = (): boolean =>
  inRequest.getStore() === true ||
  executionAsyncResource().constructor.name === "HTTPServerAsyncResource";
