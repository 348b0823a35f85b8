import type { LoadHook } from "node:module";
import type { MessagePort } from "node:worker_threads";

// Node runs these hooks in a separate thread. This port sends the URLs of loaded modules to the main thread.
let port: MessagePort | undefined;

/** Called by Node when the hooks are registered. */
export function initialize(data: { readonly port: MessagePort }): void {
  ({ port } = data);
}

/** Reports each module that is loaded. */
export const load: LoadHook = async (url, context, nextLoad) => {
  port?.postMessage(url);
  return nextLoad(url, context);
};
