import { env } from "node:process";
import type { Worker, WorkerOptions } from "node:worker_threads";
import { messageOf, ServerError } from "./errors.ts";
import { serverLimits } from "./options.ts";

const { NODE_OPTIONS: _preloads, ...environment } = env;

/** For every thread of the server: preloads of the host program are not run again in it. */
export const threadOptions: WorkerOptions = { execArgv: [], env: environment };

/**
 * Waits for the first thing that a new thread says.
 *
 * @throws ServerError it ended, or said nothing in time; it is gone then.
 */
export async function waitForFirstMessage(worker: Worker): Promise<unknown> {
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
    await worker.terminate();
    throw cause;
  } finally {
    clearTimeout(timer);
    listeners.forEach((listener, event) => worker.off(event, listener));
  }
}
