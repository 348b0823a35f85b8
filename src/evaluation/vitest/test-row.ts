import type { TestContext } from "vitest";
import { withRun } from "../../main/index.ts";
import type { KeyValues, RecordedRunTree } from "../../main/index.ts";
import type { EvaluationExample } from "../data.ts";
import type { RowScore } from "../evaluator.ts";
import { createRunId } from "../ids.ts";
import { createRunMetadata, toPayload } from "../payload.ts";
import type { ExperimentInfo } from "../result.ts";
import { toJsonValue } from "../rows/json-value.ts";
import { withRow } from "../rows/row-context.ts";
import { createTargetRun } from "../rows/row-runner.ts";
import type { NamedEvaluator, RowRunner } from "../rows/row-runner.ts";
import type { ExperimentStore } from "./experiment-store.ts";
import type { TestExample } from "./sync-examples.ts";
import { TestAttempt } from "./test-attempt.ts";
import type { AttemptOutcome } from "./test-attempt.ts";
import { writeTestResult } from "./test-result.ts";

/** The members of a test function's argument that belong to its example. */
export interface ExampleArguments<Inputs = KeyValues, Reference = KeyValues | undefined> {
  readonly inputs: Inputs;
  /** The expected outputs; `undefined` if the example has none. */
  readonly referenceOutputs: Reference;
  readonly exampleId: string;
  /** Counted from 1. */
  readonly repetition: number;
  /** The experiment in which the result is stored; `undefined` if nothing is stored. */
  readonly experiment: ExperimentInfo | undefined;
}

/** The id that stands for the experiment if nothing is stored. */
export const noExperimentId = "00000000-0000-0000-0000-000000000000";

/** Options of a {@link TestRow}. */
interface TestRowInit {
  readonly datasetName: string;
  readonly example: TestExample;
  readonly repetition: number;
  readonly store: ExperimentStore | undefined;
  /** Why nothing is stored. */
  readonly problem: string | undefined;
  /** The evaluators of the suite, which are called for each test. */
  readonly evaluators: readonly NamedEvaluator[];
  readonly createRunner: (evaluators: readonly NamedEvaluator[], signal: AbortSignal) => RowRunner;
}

/**
 * The result of a test: a run of its example in the experiment. States: running, then ended by {@link TestRow.end}. The
 * run starts with the first attempt; outputs and scores are those of the last attempt.
 */
export class TestRow {
  readonly #init: TestRowInit;
  readonly #experimentId: string;
  readonly #runId: string;
  #run: RecordedRunTree | undefined;
  #startMs = 0;
  #attempts = 0;
  #last: { readonly attempt: TestAttempt; readonly outcome: AttemptOutcome } | undefined;

  constructor(init: TestRowInit) {
    this.#init = init;
    const { store, example, repetition } = init;
    this.#experimentId = store?.project.id ?? noExperimentId;
    this.#runId = createRunId(this.#experimentId, example.id, repetition);
  }

  /** Begins an attempt. The first attempt also starts the run. */
  begin(context: TestContext): TestAttempt {
    const attempt: TestAttempt = new TestAttempt(context, (evaluator, outputs) =>
      this.#evaluate(attempt, [evaluator], outputs),
    );
    this.#attempts += 1;
    if (this.#attempts === 1) {
      this.#run = this.#startRun(attempt);
    } else {
      const outcome = this.#last?.outcome;
      const error = outcome?.kind === "failed" ? outcome.message : undefined;
      this.#run?.addEvent({ name: "retry", kwargs: { attempt: this.#attempts - 1, error } });
    }
    return attempt;
  }

  /** Calls the test function, and then the evaluators of the suite. */
  async call(attempt: TestAttempt, fn: (args: ExampleArguments) => unknown): Promise<void> {
    const { store, example, repetition, evaluators } = this.#init;
    const { id: exampleId, inputs, outputs: referenceOutputs } = example;
    const args = { inputs, referenceOutputs, exampleId, repetition, experiment: store?.info };
    const run = this.#run;
    await withRow({ experimentId: this.#experimentId, exampleId, repetition }, () =>
      attempt.call(() => (run === undefined ? fn(args) : withRun(run, () => fn(args)))),
    );
    if (evaluators.length > 0) {
      attempt.addScores(await this.#evaluate(attempt, evaluators, attempt.outputs));
    }
  }

  /** Ends an attempt, and writes its result for the reporter. Returns whether the attempt failed. */
  close(attempt: TestAttempt): boolean {
    const { datasetName, store, problem } = this.#init;
    const outcome = attempt.close();
    this.#last = { attempt, outcome };
    const hasFailed = outcome.kind === "failed";
    if (outcome.kind !== "skipped") {
      writeTestResult(attempt.task.meta, {
        dataset: datasetName,
        ...(store && { experiment: store.info }),
        ...(problem === undefined ? {} : { problem }),
        scores: attempt.scores.map(({ key, score, error }) => ({ key, score, error })),
        durationMs: attempt.durationMs,
        hasFailed,
      });
    }
    return hasFailed;
  }

  /** Ends the run, and stores the row with the result of the last attempt. */
  end(): void {
    const { store, example, repetition } = this.#init;
    const [run, last] = [this.#run, this.#last];
    if (store === undefined || run === undefined || last === undefined) {
      return;
    }
    const { attempt, outcome } = last;
    const outputs = toJsonValue(attempt.outputs, "outputs");
    const durationMs = attempt.startMs + attempt.durationMs - this.#startMs;
    const endTime = this.#startMs + durationMs;
    if (outcome.kind === "failed") {
      run.fail(outcome.error, attempt.outputs, { endTime });
    } else {
      if (outcome.kind === "skipped") {
        run.addTags("skipped");
      }
      run.end(attempt.outputs, { endTime });
    }
    store.add({
      name: run.name,
      runId: this.#runId,
      exampleId: example.id,
      repetition,
      inputs: example.inputs,
      ...(attempt.outputs === undefined ? {} : { outputs: outputs.json }),
      ...(outcome.kind === "failed" ? { error: outcome.message } : {}),
      scores: attempt.scores,
      startTime: new Date(this.#startMs).toISOString(),
      durationMs,
      attempts: this.#attempts,
      warnings: outputs.problems,
    });
  }

  /**
   * Starts the run of the test. Returns `undefined` if results are not stored, or the client does not record the run.
   */
  #startRun({ task, startMs }: TestAttempt): RecordedRunTree | undefined {
    const { store, example, repetition } = this.#init;
    this.#startMs = startMs;
    if (store === undefined) {
      return undefined;
    }
    const run = store.client.startRun({
      id: this.#runId,
      name: task.name,
      inputs: toPayload(example.inputs, "input"),
      parent: null,
      projectName: store.project.name,
      referenceExampleId: example.id,
      metadata: createRunMetadata({ exampleId: example.id, repetition }),
      startTime: startMs,
    });
    if (!run.sampled) {
      store.countUnrecorded();
      return undefined;
    }
    return run;
  }

  #evaluate(
    attempt: TestAttempt,
    evaluators: readonly NamedEvaluator[],
    outputs: unknown,
  ): Promise<readonly RowScore[]> {
    const { store, example, createRunner } = this.#init;
    const { id, inputs, outputs: referenceOutputs, metadata = {}, splits = [] } = example;
    const evaluated: EvaluationExample<unknown, unknown> = {
      id,
      inputs,
      metadata,
      splits,
      ...(referenceOutputs && { outputs: referenceOutputs }),
      ...(store && { datasetId: store.info.datasetId }),
    };
    const run = createTargetRun(
      {
        name: attempt.task.name,
        project: store?.project ?? { id: this.#experimentId, name: "" },
        example: evaluated,
        runId: this.#runId,
        startMs: attempt.startMs,
        durationMs: attempt.durationMs,
      },
      outputs,
    );
    return createRunner(evaluators, attempt.signal).evaluate(run, evaluated, outputs);
  }
}
