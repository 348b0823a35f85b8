import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Topic } from "./questions.ts";

/** Options of the load generator. */
export interface LoadOptions {
  /** URL of the route. */
  readonly url: string;
  readonly topics: readonly Topic[];
  /** Maximum number of requests in flight. */
  readonly concurrency: number;
  /** Maximum number of requests. */
  readonly requestLimit: number;
  /** Number of questions after which they repeat, so that every phase asks the same ones. */
  readonly cycle: number;
}

/** The result of the load generator. */
export interface LoadResult {
  /** Number of requests to the model that never responds. */
  readonly failedOnPurpose: number;
  /** Number of all other requests that failed. */
  readonly failed: number;
  /** Duration of each request until the end of its response. */
  readonly responseMs: Float64Array;
}

/** Messages of the load generator's thread: its progress after every few responses, and finally its result. */
export type LoadMessage =
  | { readonly kind: "progress"; readonly requests: number }
  | { readonly kind: "done"; readonly result: LoadResult };

/**
 * Calls the route from a separate thread, so that the load generator's work is not measured as the program's.
 * `onProgress` returns whether to continue. Requests in flight are completed in either case.
 */
export const runLoad = async (
  options: LoadOptions,
  onProgress: (requests: number) => boolean,
): Promise<LoadResult> => {
  const worker = new Worker(new URL("./load.worker.js", import.meta.url), { workerData: options });
  let result: LoadResult | undefined;
  worker.on("message", (message: LoadMessage) => {
    if (message.kind === "done") {
      result = message.result;
    } else if (!onProgress(message.requests)) {
      worker.postMessage("stop");
    }
  });
  // This rejects if the thread fails, because `once` rejects on an `error` event.
  await once(worker, "exit");
  if (result === undefined) {
    throw new LoadError("The load generator ended without a result.");
  }
  return result;
};

/** The load generator ended without a result. */
export class LoadError extends Error {
  override readonly name = "LoadError";
}
