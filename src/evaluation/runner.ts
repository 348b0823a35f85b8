import { ValidationError } from "../main/index.ts";
import type { CacheMode, CacheSettings } from "./cache/cache-options.ts";
import type { CurrentRow, Evaluation } from "./evaluation.ts";
import type { EvaluateOptions, EvaluatorOptions } from "./options.ts";
import type { EvaluationResult, ExperimentInfo } from "./result.ts";
import { joinSignals } from "./rows/deadline.ts";

/** Options of a runner. They replace the options that were passed to an evaluation. */
export interface RunnerOptions {
  /** Name of the experiment to compare with. */
  readonly baseline?: string | undefined;
  readonly repetitions?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly cache?: CacheMode | CacheSettings | undefined;
  /** Aborts all evaluations, in addition to their own signals. */
  readonly signal?: AbortSignal | undefined;
}

/** Callbacks of a runner for one evaluation. */
export interface EvaluationObserver {
  /** Called before the first row. `readCosts` reads the target's costs so far from the server. */
  readonly onExperiment?: (
    experiment: ExperimentInfo,
    readCosts: () => Promise<Pick<EvaluationResult, "totalCost" | "totalTokens">>,
  ) => void;
  /** Called before the target is called for a row. */
  readonly onRowStart?: (row: CurrentRow) => void;
}

/** A program that runs files with evaluations, such as `millrace eval`. */
export interface EvaluationRunner {
  readonly options?: RunnerOptions | undefined;
  /**
   * Called for each evaluation that starts, with the name of the function that was called. The callback must attach
   * a handler for the evaluation's failure.
   */
  readonly onStart: (
    evaluation: Evaluation<unknown, unknown, unknown>,
    call: string,
  ) => EvaluationObserver | undefined;
}

/**
 * Key of the runner on `globalThis`. The runner is global, because the command line has its own copy of this package,
 * and all copies in a process must share the runner.
 */
const runnerKey = Symbol.for("millrace.evaluation.runner");

/**
 * Sets the runner of all evaluations that this process starts from now on; `undefined` removes it. For programs that
 * load files with calls of `evaluate`, such as `millrace eval`. The files need no changes for the runner.
 */
export function setEvaluationRunner(runner: EvaluationRunner | undefined): void {
  Reflect.set(globalThis, runnerKey, runner);
}

/** Returns the runner that {@link setEvaluationRunner} has set; `undefined` if there is none. */
export const findEvaluationRunner = (): EvaluationRunner | undefined =>
  Reflect.get(globalThis, runnerKey) as EvaluationRunner | undefined;

/** Returns the caller's options for an evaluation, overridden by the options of the runner. */
export function applyRunnerOptions<Options extends EvaluateOptions<unknown, unknown, unknown>>(
  options: Options,
): Options {
  const runnerOptions = findEvaluationRunner()?.options;
  if (runnerOptions === undefined || typeof options !== "object" || options === null) {
    return options;
  }
  const { baseline, repetitions, cache } = runnerOptions;
  return {
    ...applySharedOptions(options),
    ...(baseline === undefined
      ? {}
      : {
          baseline: {
            ...(typeof options.baseline === "object" ? options.baseline : {}),
            experiment: baseline,
          },
        }),
    ...(repetitions === undefined ? {} : { repetitions }),
    ...(cache === undefined ? {} : { cache }),
  };
}

/** Like {@link applyRunnerOptions}, but only for the options that all kinds of evaluations have. */
export function applySharedOptions<Options extends EvaluatorOptions<unknown, unknown, unknown>>(
  options: Options,
): Options {
  const runnerOptions = findEvaluationRunner()?.options;
  if (runnerOptions === undefined || typeof options !== "object" || options === null) {
    return options;
  }
  const { concurrency, signal } = runnerOptions;
  return {
    ...options,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(signal === undefined || !isSignal(options.signal)
      ? {}
      : { signal: joinSignals(options.signal, signal) }),
  };
}

/** Whether the option `signal` is valid. An invalid one is left in place, so that the evaluation rejects it. */
const isSignal = (option: unknown): boolean =>
  option === undefined || option instanceof AbortSignal;

/** Options that only `evaluate` has. */
const evaluateOnly = ["data", "resume", "retries", "repetitions", "baseline", "cache"];

/** @throws {@link ValidationError} if an option of `evaluate` is passed to another function. */
export function rejectEvaluateOptions(call: string, options: unknown): void {
  const name = evaluateOnly.find(
    (key) => typeof options === "object" && options !== null && key in options,
  );
  if (name !== undefined) {
    throw new ValidationError(
      `${call}: \`${name}\` is an option of evaluate only. Remove it: ${call} evaluates runs that already exist`,
    );
  }
}
