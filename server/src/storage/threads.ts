import { env } from "node:process";
import type { Worker, WorkerOptions } from "node:worker_threads";
import { messageOf, ServerError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

const { NODE_OPTIONS: _preloads, ...environment } = env;

/**
 * The environment of all threads and processes of the server. It lacks NODE_OPTIONS, so that no thread or process runs
 * the modules that the host program preloads.
 */
export const cleanEnvironment = environment;

/**
 * Options of worker threads: they inherit no flags of Node, and all environment variables except NODE_OPTIONS; see
 * {@link cleanEnvironment}.
 */
export const threadOptions: WorkerOptions = { execArgv: [], env: cleanEnvironment };

/**
 * Asks a thread to end, and resolves once it has ended. Terminating a thread in which SQLite runs may end the
 * whole process (`Napi::Error`, exit code 134), so a thread is terminated only if it does not end in time.
 *
 * @param request - the message that makes the thread close its resources and end.
 */
export async function endThread(
  worker: Worker,
  request: unknown,
  withinMs: number = serverLimits.endMs,
): Promise<void> {
  const exited = waitForExit(worker);
  worker.postMessage(request);
  const timer = setTimeout(() => void worker.terminate(), withinMs);
  await exited;
  clearTimeout(timer);
}

/**
 * Resolves once a thread has ended. Does not use `events.once`, which would reject if the thread ends with an error,
 * such as a full disk.
 */
export function waitForExit(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (worker.threadId === -1) {
      resolve(); // The thread has ended already, and the event is not emitted again.
    } else {
      worker.once("exit", () => resolve());
    }
  });
}

/**
 * Waits for the first message of a new thread.
 *
 * @param endRequest - see {@link endThread}. It is sent to a thread that posts nothing in time, because the thread
 * may still be working.
 * @param limitMs - how long to wait.
 *
 * @throws ServerError the thread ended, or posted nothing in time. The thread has ended when this error is thrown.
 */
export async function waitForFirstMessage(
  worker: Worker,
  endRequest: unknown,
  limitMs: number = serverLimits.startMs,
): Promise<unknown> {
  const listeners = new Map<string, (value: unknown) => void>();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const fail = (reason: string): void =>
        reject(new ServerError("THREAD", `a thread of the server did not start: ${reason}`));
      timer = setTimeout(() => fail(`no message within ${limitMs} ms`), limitMs);
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
