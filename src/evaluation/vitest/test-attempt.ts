import { AsyncLocalStorage } from "node:async_hooks";
import { stripVTControlCharacters } from "node:util";
import type { ExpectStatic, TestContext } from "vitest";
import { ValidationError } from "../../main/index.ts";
import type { NamedEvaluator } from "../rows/row-runner.ts";
import { maxKeyLength, toRowScores, wordsForPassedValue } from "../rows/scores.ts";
import type { EvaluatorResult, RowScore } from "../evaluator.ts";
import { readMessage } from "./read-message.ts";
import { now } from "./real-time.ts";

/** The key of the score for a test as a whole: 1 if it has passed, otherwise 0. */
export const passKey = "pass";

/** The result of one call of a test function. */
export type AttemptOutcome =
  | { readonly kind: "passed" }
  | { readonly kind: "skipped" }
  | { readonly kind: "failed"; readonly error: unknown; readonly message: string };

/** The members of vitest's task object that this package reads. Other members differ between versions of vitest. */
export interface TaskView {
  readonly name: string;
  readonly meta: object;
  readonly suite?: ParentSuite | undefined;
  readonly retry?: number | { readonly count?: number | undefined } | undefined;
  readonly result?:
    | {
        readonly state?: string | undefined;
        readonly pending?: boolean | undefined;
        readonly retryCount?: number | undefined;
        readonly repeatCount?: number | undefined;
        readonly errors?: readonly TaskError[] | undefined;
      }
    | undefined;
}

/** A suite of tests. */
interface ParentSuite {
  readonly suite?: ParentSuite | undefined;
}

/** An error as vitest stores it: a copy without the error's class. */
interface TaskError {
  readonly name?: string | undefined;
  readonly message: string;
  readonly stack?: string | undefined;
}

/** Calls an evaluator for the test's example and the outputs, and returns its scores. */
type Evaluate = (evaluator: NamedEvaluator, outputs: unknown) => Promise<readonly RowScore[]>;

const attemptStorage = new AsyncLocalStorage<TestAttempt>();

/** Returns the attempt of the running test; `undefined` outside of tests of examples. */
export const currentAttempt = (): TestAttempt | undefined => attemptStorage.getStore();

/** @throws {@link ValidationError} if no test of this module is running, or if the test has ended. */
export function requireAttempt(call: string): TestAttempt {
  const attempt = currentAttempt();
  if (attempt === undefined) {
    throw new ValidationError(
      `${call}: call it in the function of a test that was created with \`test\` of millrace/vitest`,
    );
  }
  attempt.assertOpen(call);
  return attempt;
}

/**
 * The outputs and scores of one call of a test function. Vitest calls the function again if it retries a failed test.
 */
export class TestAttempt {
  readonly task: TaskView;
  /** Vitest's `expect` for this test, which also works while tests run concurrently. */
  readonly expect: ExpectStatic;
  readonly signal: AbortSignal;
  readonly startMs = now();
  readonly #scores: RowScore[] = [];
  /** Number of errors of earlier attempts. Vitest keeps these errors in the task. */
  readonly #earlierErrors: number;
  #outputs: unknown;
  #hasOutputs = false;
  #thrown: { readonly error: unknown } | undefined;
  #endMs: number | undefined;
  #isClosed = false;
  readonly #evaluate: Evaluate;

  constructor(context: TestContext, evaluate: Evaluate) {
    this.#evaluate = evaluate;
    this.task = context.task;
    this.expect = context.expect;
    // Vitest before 3.2 has no signal.
    this.signal = "signal" in context ? context.signal : new AbortController().signal;
    this.#earlierErrors = this.errorCount;
  }

  /** Number of errors of the task so far. */
  get errorCount(): number {
    return this.task.result?.errors?.length ?? 0;
  }

  get outputs(): unknown {
    return this.#outputs;
  }

  get scores(): readonly RowScore[] {
    return this.#scores;
  }

  get durationMs(): number {
    return (this.#endMs ?? now()) - this.startMs;
  }

  /** Calls the test function. If it returns a value, the value becomes the outputs. */
  async call(fn: () => unknown): Promise<void> {
    try {
      const result = await attemptStorage.run(this, fn);
      if (result !== undefined && !this.#isClosed) {
        this.#outputs = result;
        this.#hasOutputs = true;
      }
    } catch (error) {
      this.#thrown = { error };
      throw error;
    } finally {
      this.#endMs = now();
    }
  }

  /** Calls an evaluator, and adds its scores. */
  async evaluate(evaluator: NamedEvaluator, outputs: unknown): Promise<readonly RowScore[]> {
    const scores = await this.#evaluate(evaluator, outputs);
    this.addScores(scores);
    return scores;
  }

  /** @throws {@link ValidationError} if the test has ended. */
  assertOpen(call: string): void {
    if (this.#isClosed) {
      throw new ValidationError(
        `${call}: the test ${JSON.stringify(this.task.name)} has ended. Await what the test starts, or give it more time`,
      );
    }
  }

  setOutputs(outputs: unknown): void {
    this.#outputs = outputs;
    this.#hasOutputs = true;
  }

  get hasOutputs(): boolean {
    return this.#hasOutputs;
  }

  /** Adds validated scores. Scores that arrive after the test has ended are dropped. */
  addScores(scores: readonly RowScore[]): void {
    if (!this.#isClosed) {
      this.#scores.push(...scores);
    }
  }

  /** @throws {@link ValidationError} if the key or the value is not valid. */
  addScore(key: string, value: EvaluatorResult): void {
    if (key === passKey) {
      throw new ValidationError(
        `score: the key "${passKey}" is reserved for the test as a whole. Choose another one`,
      );
    }
    if (key === "" || key.length > maxKeyLength) {
      throw new ValidationError(
        `score: the key must be a string of 1 to ${maxKeyLength} characters`,
      );
    }
    try {
      this.addScores(toRowScores(value, key, wordsForPassedValue));
    } catch (error) {
      throw new ValidationError(
        `score: the value for ${JSON.stringify(key)} can't be stored: ${readMessage(error)}`,
        { cause: error },
      );
    }
  }

  /** Ends the attempt after vitest has determined its result, and returns that result. */
  close(): AttemptOutcome {
    this.#isClosed = true;
    const { result } = this.task;
    if (result?.state === "skip" || result?.pending === true) {
      return { kind: "skipped" };
    }
    if (result?.state !== "fail") {
      this.#scores.push({ key: passKey, score: 1 });
      return { kind: "passed" };
    }
    const errors = (result.errors ?? []).slice(this.#earlierErrors);
    const message = stripVTControlCharacters(
      errors.length > 0
        ? errors.map((error) => error.message).join("\n")
        : readMessage(this.#thrown?.error),
    );
    this.#scores.push({ key: passKey, score: 0, comment: message });
    return {
      kind: "failed",
      // Use the thrown error if there is one, because vitest's copy lacks the error's class. If the test timed out,
      // nothing was thrown, and only vitest has an error.
      error: this.#thrown?.error ?? toError(errors[0], message),
      message,
    };
  }
}

function toError(taskError: TaskError | undefined, message: string): Error {
  const error = new Error(message);
  if (taskError?.stack !== undefined) {
    error.stack = stripVTControlCharacters(taskError.stack);
  }
  return error;
}
