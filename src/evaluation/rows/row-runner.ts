import { setTimeout as delay } from "node:timers/promises";
import { ValidationError, withRun } from "../../main/index.ts";
import type { Client, Run, RecordedRunTree } from "../../main/index.ts";
import type { EvaluationExample } from "../data.ts";
import { callWithLimits, describeError, throwIfAborted } from "./deadline.ts";
import type { LazySignal } from "./deadline.ts";
import type { Evaluator, EvaluatorArguments, EvaluatorFunction, RowScore } from "../evaluator.ts";
import { toJsonValue } from "./json-value.ts";
import { createRunMetadata, toPayload } from "../payload.ts";
import type { UntypedRow } from "../result.ts";
import { createRowContext, rowContexts } from "./row-context.ts";
import type { RowContext } from "./row-context.ts";
import { unwrap } from "../../scorers/scorers.ts";
import { maxKeyLength, toRowScores } from "./scores.ts";
import { startRowRunKey } from "../target.ts";
import type { RowRun, StartRowRun, Target, TargetContext, TargetFunction } from "../target.ts";

/** Options of a {@link RowRunner}. */
export interface RowRunnerInit {
  readonly client: Client;
  readonly project: { readonly id: string; readonly name: string };
  readonly evaluators: readonly NamedEvaluator[];
  readonly evaluatorProject: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly signal: AbortSignal;
  /** Records and replays the responses to requests of targets and evaluators. */
  readonly cache?: RowContext["cache"];
}

/** An evaluator with the name under which its failures and unnamed scores are stored. */
export interface NamedEvaluator {
  readonly name: string;
  readonly evaluate: EvaluatorFunction<unknown, unknown, unknown>;
}

/** A row to evaluate. */
export interface RowTask {
  readonly example: EvaluationExample<unknown, unknown>;
  /** Counted from 1. */
  readonly repetition: number;
  readonly runId: string;
  /** Start time in milliseconds since the Unix epoch, with fraction. */
  readonly startMs: number;
}

/** The named target of an evaluation. */
export interface NamedTarget {
  readonly name: string;
  readonly call: TargetFunction<unknown, unknown, unknown>;
  /** Starts the root run of a row, if the target records it itself. */
  readonly startRun?: StartRowRun | undefined;
}

/** Longest wait before a failed call of the target is repeated, in milliseconds. */
const maxRetryDelayMs = 10_000;
const firstRetryDelayMs = 250;

/** Calls the target and the evaluators for rows, and records their runs. */
export class RowRunner {
  readonly #init: RowRunnerInit;

  constructor(init: RowRunnerInit) {
    this.#init = init;
  }

  /**
   * Evaluates a row. An error that the target or an evaluator throws becomes part of the result.
   *
   * @throws {@link AbortError} if the evaluation was aborted; {@link ValidationError} if the client does not record the
   * run.
   */
  run(target: NamedTarget, task: RowTask): Promise<UntypedRow> {
    const { example, repetition } = task;
    const row = { experimentId: this.#init.project.id, exampleId: example.id, repetition };
    const context = createRowContext(row, this.#init.cache);
    return rowContexts.run(context, () => this.#run(target, task, context));
  }

  async #run(target: NamedTarget, task: RowTask, { problems }: RowContext): Promise<UntypedRow> {
    const { client, project } = this.#init;
    const { example, repetition, runId, startMs } = task;
    const runOptions = {
      id: runId,
      name: target.name,
      inputs: toPayload(example.inputs, "input"),
      projectName: project.name,
      referenceExampleId: example.datasetId === undefined ? undefined : example.id,
      metadata: createRunMetadata({ exampleId: example.id, repetition }),
      startTime: startMs,
    };
    const run =
      target.startRun?.(runOptions) ?? toRowRun(client.startRun({ ...runOptions, parent: null }));
    assertRecorded(run);
    const outcome = await this.#callTarget(target, task, run);
    const { inputs } = example;
    const { durationMs } = outcome;
    const storedInputs = toJsonValue(inputs, "inputs");
    const storedOutputs = toJsonValue(outcome.outputs, "outputs");
    const scores =
      outcome.error === undefined
        ? await this.evaluate(
            createTargetRun({ name: target.name, project, durationMs, ...task }, outcome.outputs),
            example,
            outcome.outputs,
          )
        : [];
    return {
      runId,
      exampleId: example.id,
      repetition,
      inputs: storedInputs.json,
      ...(example.outputs === undefined ? {} : { referenceOutputs: example.outputs }),
      ...(outcome.error === undefined ? { outputs: storedOutputs.json } : { error: outcome.error }),
      scores,
      startTime: toIso(startMs),
      durationMs,
      attempts: outcome.attempts,
      warnings: [...storedInputs.problems, ...storedOutputs.problems, ...problems],
      isResumed: false,
    };
  }

  /** Calls all evaluators for a run. */
  async evaluate(
    run: Run,
    example: EvaluationExample<unknown, unknown>,
    outputs: unknown,
  ): Promise<readonly RowScore[]> {
    const scores = await Promise.all(
      this.#init.evaluators.map((evaluator) =>
        this.#callEvaluator(evaluator, { run, example, outputs }),
      ),
    );
    return scores.flat();
  }

  async #callTarget(
    target: NamedTarget,
    { example, repetition }: RowTask,
    run: RowRun,
  ): Promise<TargetOutcome> {
    const { timeoutMs, signal, retries } = this.#init;
    const limits = { timeoutMs, signal, label: `The target ${target.name}` };
    for (let attempt = 1; ; attempt += 1) {
      const startedAt = performance.now();
      try {
        const outputs = await run.call(() =>
          callWithLimits(
            (lazy) =>
              target.call(example.inputs, new CallContext(lazy, { example, repetition, attempt })),
            limits,
          ),
        );
        run.end(outputs);
        return { outputs, attempts: attempt, durationMs: performance.now() - startedAt };
      } catch (error) {
        if (signal.aborted) {
          run.fail(error);
          throwIfAborted(signal);
        }
        if (attempt > retries) {
          run.fail(error);
          const durationMs = performance.now() - startedAt;
          return { outputs: undefined, error: describeError(error), attempts: attempt, durationMs };
        }
        run.addEvent({ name: "retry", kwargs: { attempt, error: describeError(error) } });
      }
      const delayMs = Math.min(firstRetryDelayMs * 2 ** (attempt - 1), maxRetryDelayMs);
      // The random part prevents rows that failed at the same time from being repeated at the same time.
      await delay(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {
        run.fail("The evaluation was aborted");
        throwIfAborted(signal);
      });
    }
  }

  async #callEvaluator(
    { name, evaluate }: NamedEvaluator,
    { run, example, outputs }: EvaluatedRun,
  ): Promise<readonly RowScore[]> {
    const { client, evaluatorProject, project, timeoutMs, signal } = this.#init;
    const evaluatorRun = client.startRun({
      name,
      parent: null,
      projectName: evaluatorProject,
      inputs: { inputs: run.inputs, outputs, referenceOutputs: example.outputs },
      metadata: { experiment: project.name, run_id: run.id, example_id: example.id },
    });
    const sourceRunId = evaluatorRun.id;
    try {
      const result = await withRun(evaluatorRun, () =>
        callWithLimits((lazy) => evaluate(createArguments(lazy, { run, example, outputs })), {
          timeoutMs,
          signal,
          label: `The evaluator ${name}`,
        }),
      );
      const scores = toRowScores(result, name);
      evaluatorRun.end({ scores });
      return scores.map((score) => ({ ...score, sourceRunId }));
    } catch (error) {
      evaluatorRun.fail(error);
      throwIfAborted(signal);
      return [{ key: name, error: describeError(error), sourceRunId }];
    }
  }
}

/** Creates the run that evaluators receive after a successful call of the target. */
export const createTargetRun = (
  {
    name,
    project,
    example,
    runId,
    startMs,
    durationMs,
  }: Omit<RowTask, "repetition"> &
    Pick<RowRunnerInit, "project"> & { readonly name: string; readonly durationMs: number },
  outputs: unknown,
): Run => ({
  id: runId,
  name,
  runType: "chain",
  status: "success",
  startTime: toIso(startMs),
  endTime: toIso(startMs + durationMs),
  inputs: toPayload(example.inputs, "input"),
  outputs: toPayload(outputs, "outputs"),
  traceId: runId,
  projectId: project.id,
  projectName: project.name,
  referenceExampleId: example.datasetId === undefined ? undefined : example.id,
});

/** Result of the target's calls for one row. */
interface TargetOutcome {
  readonly outputs: unknown;
  readonly error?: string;
  readonly attempts: number;
  readonly durationMs: number;
}

/** The run that evaluators judge, with its example and outputs. */
interface EvaluatedRun {
  readonly run: Run;
  readonly example: EvaluationExample<unknown, unknown>;
  readonly outputs: unknown;
}

/** The second argument of a target. Its signal is created when it is read. */
class CallContext implements TargetContext<unknown, unknown> {
  readonly example: EvaluationExample<unknown, unknown>;
  readonly repetition: number;
  readonly attempt: number;
  readonly #lazy: LazySignal;

  constructor(
    lazy: LazySignal,
    call: Pick<TargetContext<unknown, unknown>, "example" | "repetition" | "attempt">,
  ) {
    this.example = call.example;
    this.repetition = call.repetition;
    this.attempt = call.attempt;
    this.#lazy = lazy;
  }

  get attachments(): NonNullable<EvaluationExample["attachments"]> {
    return this.example.attachments ?? {};
  }

  get signal(): AbortSignal {
    return this.#lazy.signal;
  }
}

function createArguments(
  lazy: LazySignal,
  { run, example, outputs }: EvaluatedRun,
): EvaluatorArguments<unknown, unknown, unknown> {
  const { inputs, outputs: referenceOutputs, attachments = {} } = example;
  return {
    run,
    example,
    inputs,
    outputs,
    referenceOutputs,
    attachments,
    get signal() {
      return lazy.signal;
    },
    // The type is `never`, because only `never` can be assigned to the parameter of every autoevals scorer: each scorer
    // declares its own type.
    input: unwrap(inputs) as never,
    output: unwrap(outputs) as never,
    expected: unwrap(referenceOutputs) as never,
  };
}

const toRowRun = (run: RecordedRunTree): RowRun => ({
  sampled: run.sampled,
  call: (fn) => withRun(run, fn),
  end: (outputs) => run.end(outputs),
  fail: (error) => run.fail(error),
  addEvent: (event) => run.addEvent(event),
});

/** @throws {@link ValidationError} if a run is not recorded, because the experiment would then lack the row. */
function assertRecorded(run: RowRun): void {
  if (!run.sampled) {
    throw new ValidationError(
      "The client does not record every run, so rows would be missing from the experiment. Pass a client with enabled: true and samplingRate: 1, and unset MILLRACE_TRACING=false and LANGSMITH_TRACING=false",
    );
  }
}

/** @throws {@link ValidationError} if the target is neither a function nor an object with the method `invoke`. */
export function toNamedTarget(target: Target<unknown, unknown, unknown>): NamedTarget {
  const untyped: unknown = target;
  if (typeof untyped === "function") {
    return {
      name: untyped.name || "target",
      call: untyped as NamedTarget["call"],
      startRun: Reflect.get(untyped, startRowRunKey) as StartRowRun | undefined,
    };
  }
  if (
    typeof untyped === "object" &&
    untyped !== null &&
    "invoke" in untyped &&
    typeof untyped.invoke === "function"
  ) {
    const runnable = untyped as { readonly invoke: (inputs: unknown) => unknown };
    return {
      name: untyped.constructor.name === "Object" ? "target" : untyped.constructor.name,
      call: (inputs) => runnable.invoke(inputs),
    };
  }
  throw new ValidationError(
    "evaluate: the target must be a function of the inputs, or an object with the method `invoke`",
  );
}

/**
 * @throws {@link ValidationError} if an evaluator is neither a function nor an object with a name and the method
 * `evaluate`, if a name is not a string of 1 to 180 characters, or if two evaluators have the same name.
 */
export function toNamedEvaluators(
  evaluators: readonly Evaluator<unknown, unknown, unknown>[],
): readonly NamedEvaluator[] {
  if (!Array.isArray(evaluators)) {
    throw new ValidationError("`evaluators` must be an array of functions");
  }
  const named = evaluators.map((evaluator: unknown, index): NamedEvaluator => {
    if (typeof evaluator === "function") {
      return {
        name: evaluator.name || `evaluator ${index + 1}`,
        evaluate: evaluator as NamedEvaluator["evaluate"],
      };
    }
    const object = evaluator as NamedEvaluator | null | undefined;
    if (typeof object?.evaluate !== "function" || typeof object.name !== "string") {
      throw new ValidationError(
        `evaluators[${index}] must be a function, or an object { name, evaluate } with a function`,
      );
    }
    if (object.name === "" || object.name.length > maxKeyLength) {
      throw new ValidationError(
        `evaluators[${index}].name must be a string of 1 to ${maxKeyLength} characters, because it is the key of the evaluator's feedback`,
      );
    }
    return { name: object.name, evaluate: (args) => object.evaluate(args) };
  });
  const duplicate = named.find(
    ({ name }, index) => named.findIndex((other) => other.name === name) !== index,
  );
  if (duplicate !== undefined) {
    throw new ValidationError(
      `Two evaluators have the name ${JSON.stringify(duplicate.name)}, so their scores could not be told apart. Pass { name, evaluate } with another name for one of them; built-in scorers have the option \`key\``,
    );
  }
  return named;
}

const toIso = (ms: number): string => new Date(ms).toISOString();
