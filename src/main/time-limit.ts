import { ValidationError } from "../model/errors.ts";
import { formatValue } from "../model/options/option-problems.ts";
import { unknownKeysOf, unknownKeyText } from "../model/unknown-keys.ts";

/** A time limit for a call that waits. */
export interface TimeLimit {
  /**
   * Longest wait, in milliseconds: 0 or more. `Infinity` waits until the outcomes are known.
   *
   * @defaultValue the option `drainTimeoutMs`; about one second if that option is not set and the server was never
   * reached
   */
  readonly timeoutMs?: number | undefined;
}

/** The longest time that a timer of Node supports, some 25 days. A timer for longer ends at once. */
const maxTimerMs = 2_147_483_647;

/** Returns the time limit of a call, `undefined` if it has none, or the error if the argument is not valid. */
export function readTimeLimit(call: string, limit: unknown): number | undefined | ValidationError {
  // A JavaScript caller may pass anything.
  if (typeof limit !== "object" || limit === null) {
    return new ValidationError(
      `${call}: the limit must be an object such as { timeoutMs: 500 }, not ${formatValue(limit)}`,
    );
  }
  const [unknownOption] = unknownKeysOf(limit, ["timeoutMs"]);
  if (unknownOption !== undefined) {
    return new ValidationError(`${call}: ${unknownKeyText("option", unknownOption)}`);
  }
  const { timeoutMs } = limit as { readonly timeoutMs?: unknown };
  if (timeoutMs === undefined) {
    return undefined;
  }
  return typeof timeoutMs === "number" && timeoutMs >= 0
    ? Math.min(timeoutMs, maxTimerMs)
    : new ValidationError(
        `${call}: \`timeoutMs\` must be a number of milliseconds, 0 or more, not ${formatValue(timeoutMs)}`,
      );
}
