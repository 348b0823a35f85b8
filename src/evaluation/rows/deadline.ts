import { setMaxListeners } from "node:events";
import { AbortError, TimeoutError } from "../../main/index.ts";
import { Deferred } from "../../model/deferred.ts";

/** Limits of one call of a target or an evaluator. */
export interface CallLimits {
  readonly timeoutMs: number;
  /** Aborts the call. */
  readonly signal: AbortSignal;
  /** Name of the called function, for messages. */
  readonly label: string;
}

/** The signal of one call. It is created only when it is read, because most functions don't read it. */
export interface LazySignal {
  readonly signal: AbortSignal;
}

/**
 * Calls a function and waits for its promise, but not longer than the limits allow. A function that ignores its signal
 * continues to run, and its result is dropped. A function that blocks the thread can't be interrupted.
 *
 * @throws {@link TimeoutError} after the time limit; {@link AbortError} if the signal was aborted; any error that the
 * function throws.
 */
export async function callWithLimits<Result>(
  fn: (lazy: LazySignal) => Result | PromiseLike<Result>,
  { timeoutMs, signal, label }: CallLimits,
): Promise<Result> {
  throwIfAborted(signal);
  let controller: AbortController | undefined;
  const lazy = {
    get signal(): AbortSignal {
      controller ??= new AbortController();
      return controller.signal;
    },
  };
  const result = fn(lazy);
  if (!isThenable(result)) {
    return result;
  }
  const limit = new Deferred<never>();
  const stop = (error: Error): void => {
    limit.reject(error);
    controller?.abort(error);
  };
  const timer = setTimeout(() => {
    stop(
      new TimeoutError(
        `${label} did not finish within ${timeoutMs} ms. Pass a longer timeoutMs, or make it stop when its signal is aborted`,
      ),
    );
  }, timeoutMs);
  const onAbort = (): void => stop(createAbortError(signal));
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([result, limit.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Combines signals into one signal to which all calls in progress add listeners. The listener limit is removed, because
 * Node would otherwise warn about a possible leak if there are more than ten listeners.
 */
export function joinSignals(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const joined = AbortSignal.any(signals.filter((signal) => signal !== undefined));
  setMaxListeners(0, joined);
  return joined;
}

/** @throws AbortError if the signal was aborted. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) {
    throw createAbortError(signal);
  }
}

const createAbortError = (signal: AbortSignal): Error =>
  new AbortError("The evaluation was aborted", { cause: signal.reason });

const isThenable = <Result>(value: Result | PromiseLike<Result>): value is PromiseLike<Result> =>
  (typeof value === "object" || typeof value === "function") &&
  value !== null &&
  "then" in value &&
  typeof value.then === "function";

/** Returns the name and the message of a thrown value, which is not necessarily an error. Never throws. */
export function describeError(error: unknown): string {
  try {
    if (error instanceof Error) {
      return `${error.name}: ${error.message}`;
    }
    return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
  } catch {
    return "an error that can't be read";
  }
}
