import type { LoadHook } from "node:module";
import type { MessagePort } from "node:worker_threads";

// Hooks run in a thread of their own, which reports to the main thread through this port.
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
