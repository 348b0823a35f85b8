import { env } from "node:process";
import type { Worker, WorkerOptions } from "node:worker_threads";
import { messageOf, ServerError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

const { NODE_OPTIONS: _preloads, ...environment } = env;

/** For every thread and process of the server: preloads of the host program are not run again in it. */
export const cleanEnvironment = environment;

export const threadOptions: WorkerOptions = { execArgv: [], env: cleanEnvironment };

/**
 * Has a thread end itself; resolves when it has. A thread that is terminated while SQLite works in it may end the
 * whole process (`Napi::Error`, exit code 134): that is the last resort, for one that does not end in time.
 *
 * @param request - what the thread takes as the request to close what it has open, and end.
 */
export async function endThread(
  worker: Worker,
  request: unknown,
  withinMs: number = serverLimits.endMs,
): Promise<void> {
  const ended = whenEnded(worker);
  worker.postMessage(request);
  const timer = setTimeout(() => void worker.terminate(), withinMs);
  await ended;
  clearTimeout(timer);
}

/** Resolves when a thread has ended. Not events.once: that rejects where the thread ends by an error, a full disk say. */
export function whenEnded(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (worker.threadId === -1) {
      resolve(); // It has ended already, and says so no second time.
    } else {
      worker.once("exit", () => resolve());
    }
  });
}

/**
 * Waits for the first message of a new thread.
 *
 * @param endRequest - see {@link endThread}; a thread that is silent for too long gets it, and may still be at work.
 * @throws ServerError it ended, or sent nothing in time. It has ended then.
 */
export async function waitForFirstMessage(worker: Worker, endRequest: unknown): Promise<unknown> {
  const listeners = new Map<string, (value: unknown) => void>();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const fail = (reason: string): void =>
        reject(new ServerError("THREAD", `a thread of the server did not start: ${reason}`));
      timer = setTimeout(() => fail(`silent for ${serverLimits.startMs} ms`), serverLimits.startMs);
      listeners.set("message", resolve);
      listeners.set("error", (cause) => fail(messageOf(cause)));
      listeners.set("exit", (code) => fail(`it ended with ${String(code)}`));
      listeners.forEach((listener, event) => worker.once(event, listener));
    });
  } catch (cause) {
    await endThread(worker, endRequest);
    throw cause;
  } finally {
    clearTimeout(timer);
    listeners.forEach((listener, event) => worker.off(event, listener));
  }
}
