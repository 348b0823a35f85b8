import { createContext, Script } from "node:vm";

const context = createContext({ work: undefined as unknown });
const script = new Script("work()");

/**
 * Runs work that may never end because of the regular expressions in a client's schema. V8 interrupts the work after
 * the limit, even inside a regular expression. The interrupted work can't close what it has opened, so it must not open
 * files or connections.
 *
 * @throws TimeLimitError if the work took longer than the limit.
 */
export function runWithin<Result>(limitMs: number, work: () => Result): Result {
  context["work"] = work;
  try {
    return script.runInContext(context, { timeout: limitMs }) as Result;
  } catch (cause) {
    throw isTimeout(cause) ? new TimeLimitError(limitMs) : cause;
  } finally {
    context["work"] = undefined;
  }
}

export class TimeLimitError extends Error {
  constructor(limitMs: number) {
    super(`it takes longer than ${limitMs} ms`);
    this.name = "TimeLimitError";
  }
}

const isTimeout = (cause: unknown): boolean =>
  typeof cause === "object" &&
  cause !== null &&
  Reflect.get(cause, "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT";
