import { expect as vitestExpect } from "vitest";
import type { ExpectStatic } from "vitest";
import { maxKeyLength } from "../rows/scores.ts";
import { readMessage } from "./read-message.ts";
import { currentAttempt, passKey } from "./test-attempt.ts";
import type { TestAttempt } from "./test-attempt.ts";

/** State of a chain of properties before its assertion, such as `expect(value, message).not`. */
interface Chain {
  readonly attempt: TestAttempt;
  /** The message that was passed to `expect`. */
  readonly message: string | undefined;
  readonly isNegated: boolean;
}

/**
 * Properties of Chai that only connect the parts of a chain. Reading any other property, such as `true`, checks the
 * value.
 */
const languageChains = new Set(
  [
    "to be been is that which and has have with at of same but does still also",
    "not deep nested own ordered any all itself resolves rejects",
  ].flatMap((words) => words.split(" ")),
);

/** Functions of `expect` that create an assertion. */
const assertionCreators = new Set(["soft", "poll", "element"]);

/**
 * Vitest's `expect`. In the test of an example, each expectation is also recorded as a score: 1 if it is met, 0 if not.
 * The key of the score is the message passed to `expect`, or else the name of the matcher. Snapshots are not recorded.
 */
export const expect: ExpectStatic = new Proxy(vitestExpect, {
  apply: (_, __, args: readonly unknown[]) => {
    const attempt = currentAttempt();
    return createAssertion(attempt?.expect ?? vitestExpect, args, attempt);
  },
  get: (target, name): unknown => {
    const attempt = currentAttempt();
    const source = attempt?.expect ?? target;
    const value: unknown = Reflect.get(source, name);
    return attempt !== undefined && typeof name === "string" && assertionCreators.has(name)
      ? (...args: readonly unknown[]) => createAssertion(value as Callable, args, attempt)
      : value;
  },
});

type Callable = (...args: readonly unknown[]) => unknown;

function createAssertion(
  create: Callable | ExpectStatic,
  args: readonly unknown[],
  attempt: TestAttempt | undefined,
): unknown {
  const assertion = (create as Callable)(...args);
  return attempt === undefined
    ? assertion
    : wrap(assertion, { attempt, message: readLabel(args[1]), isNegated: false });
}

/** The message in the second argument of `expect`, or in the options of `expect.poll`. */
function readLabel(argument: unknown): string | undefined {
  const label: unknown =
    typeof argument === "object" && argument !== null && "message" in argument
      ? argument.message
      : argument;
  return typeof label === "string" && label !== "" && label !== passKey
    ? label.slice(0, maxKeyLength)
    : undefined;
}

/** Wraps an assertion of Chai, so that the assertions of its chain are recorded. */
function wrap(assertion: unknown, chain: Chain): unknown {
  return isObject(assertion) && !isThenable(assertion)
    ? new Proxy(assertion, { get: (target, name) => readMember(target, name, chain) })
    : assertion;
}

function readMember(target: object, name: string | symbol, chain: Chain): unknown {
  if (typeof name === "symbol" || name.startsWith("_") || name === "assert") {
    // Matchers use these members internally. Reading them is not an expectation.
    return Reflect.get(target, name, target);
  }
  if (languageChains.has(name)) {
    return wrap(Reflect.get(target, name, target), {
      ...chain,
      isNegated: chain.isNegated || name === "not",
    });
  }
  // Reading a property of Chai, such as `true`, checks the value.
  const value = recordExpectation(name, chain, () => Reflect.get(target, name, target));
  if (typeof value !== "function") {
    return wrap(value, chain);
  }
  if (name.includes("Snapshot")) {
    // Vitest finds the source of an inline snapshot by the call stack, to which a wrapper would add a call.
    return value;
  }
  return new Proxy(value, {
    apply: (matcher, _, args: readonly unknown[]) =>
      wrap(
        recordExpectation(name, chain, () => Reflect.apply(matcher as Callable, target, args)),
        chain,
      ),
    // A method of Chai may be part of a chain, as in `to.include.keys("a")`.
    get: (matcher, member): unknown => readMember(matcher, member, chain),
  });
}

/**
 * Calls an assertion, and records whether it is met. If the result is a function, such as a matcher that was only read,
 * nothing has been checked yet, and nothing is recorded.
 */
function recordExpectation(name: string, chain: Chain, assert: () => unknown): unknown {
  const { attempt, message, isNegated } = chain;
  const key = message ?? `${isNegated ? "not." : ""}${name}`.slice(0, maxKeyLength);
  const earlierErrors = attempt.errorCount;
  const fail = (error: unknown): never => {
    attempt.addScores([{ key, score: 0, comment: readMessage(error) }]);
    throw error;
  };
  const pass = (result: unknown): unknown => {
    // A soft expectation that is not met does not throw, but adds an error to the test.
    const softError = attempt.task.result?.errors?.[earlierErrors];
    attempt.addScores([
      softError === undefined
        ? { key, score: 1 }
        : { key, score: 0, comment: readMessage(softError.message) },
    ]);
    return result;
  };
  let result: unknown;
  try {
    result = assert();
  } catch (error) {
    hideOwnCalls(error);
    return fail(error);
  }
  if (typeof result === "function") {
    return result;
  }
  return isThenable(result) ? Promise.resolve(result).then(pass, fail) : pass(result);
}

/** Removes the calls of this module from the stack of a failed expectation, so that the stack begins in the test. */
function hideOwnCalls(error: unknown): void {
  if (error instanceof Error && typeof error.stack === "string") {
    error.stack = error.stack
      .split("\n")
      .filter((line) => !line.includes(import.meta.url))
      .join("\n");
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  isObject(value) && "then" in value && typeof value.then === "function";
