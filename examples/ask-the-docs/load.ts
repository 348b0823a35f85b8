import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Topic } from "./questions.ts";

/** What the load generator is told. */
export interface LoadOptions {
  /** Of the route. */
  readonly url: string;
  readonly topics: readonly Topic[];
  /** Requests in flight at a time. */
  readonly concurrency: number;
  /** At most so many requests. */
  readonly requestLimit: number;
  /** After so many questions they start again, so that every phase asks the same ones. */
  readonly cycle: number;
}

/** What the load generator saw. */
export interface LoadResult {
  /** Requests to the model that never answers. */
  readonly failedOnPurpose: number;
  /** All others that ended in an error. */
  readonly failed: number;
  /** Of each request, from asking to the end of the answer. */
  readonly responseMs: Float64Array;
}

/** What the thread says: every few responses how far it is, at last what it saw. */
export type LoadMessage =
  | { readonly kind: "progress"; readonly requests: number }
  | { readonly kind: "done"; readonly result: LoadResult };

/**
 * Calls the route from a thread of its own, so that the caller's work is not measured as the
 * program's. `onProgress` answers whether to go on; requests under way are finished either way.
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
  // Rejects when the thread fails.
  await once(worker, "exit");
  if (result === undefined) {
    throw new LoadError("The load generator ended without a result.");
  }
  return result;
};

/** The load generator could not do its work. */
export class LoadError extends Error {
  override readonly name = "LoadError";
}
