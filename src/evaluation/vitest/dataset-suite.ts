import { inject } from "vitest";
import type { ProvidedContext, TestContext } from "vitest";
import { Client, ValidationError } from "../../main/index.ts";
import type { KeyValues } from "../../main/index.ts";
import { defaultEvaluatorProject } from "../evaluate.ts";
import { RowIds, rowNamespace } from "../ids.ts";
import { ranges } from "../option-checks.ts";
import { RowRunner } from "../rows/row-runner.ts";
import type { NamedEvaluator } from "../rows/row-runner.ts";
import { ExperimentStore } from "./experiment-store.ts";
import type { TestExample } from "./sync-examples.ts";
import { readMessage } from "./read-message.ts";
import type { TaskView, TestAttempt } from "./test-attempt.ts";
import { describeProblem, reporterKey } from "./test-result.ts";
import { noExperimentId, TestRow } from "./test-row.ts";
import type { ExampleArguments } from "./test-row.ts";

/** The validated options of a suite. */
export interface SuiteOptions {
  readonly datasetName: string;
  readonly experimentName: string;
  readonly description: string | undefined;
  readonly metadata: KeyValues | undefined;
  readonly evaluators: readonly NamedEvaluator[];
  readonly evaluatorProject: string | undefined;
  readonly client: Client | undefined;
  /** Whether results are stored. */
  readonly enabled: boolean;
}

/** The example of a test. If it has no id, it gets one when the dataset is opened. */
export type ExampleDraft = Omit<TestExample, "id"> & { readonly id?: string | undefined };

/** The position of an example in the suite. */
export type ExampleIndex = number & { readonly unit: "example" };

/** One repetition of a test with one example. */
export interface ExampleTest {
  readonly example: ExampleIndex;
  /** Counted from 1. */
  readonly repetition: number;
  /** Number of repetitions of the test. */
  readonly repetitions: number;
  readonly fn: (args: ExampleArguments) => unknown;
}

/** The tests of a `describe`. Their examples form a dataset, and their results form an experiment. */
export class DatasetSuite {
  readonly #options: SuiteOptions;
  readonly #drafts: ExampleDraft[] = [];
  /** The examples with their ids, in the order of the drafts. */
  #examples: readonly TestExample[] = [];
  #store: ExperimentStore | undefined;
  /** Vitest's task of the `describe`. */
  #suiteTask: unknown;
  #problem: string | undefined;
  /** Client for the evaluators if no results are stored. It records nothing. */
  #idleClient: Client | undefined;
  /** Rows of failed tests that vitest may retry, by the task of the test. */
  readonly #retriedRows = new Map<object, TestRow>();

  constructor(options: SuiteOptions) {
    this.#options = options;
  }

  addExample(draft: ExampleDraft): ExampleIndex {
    return (this.#drafts.push(draft) - 1) as ExampleIndex;
  }

  /**
   * Opens the dataset and the experiment. If that fails, the tests still run, and a warning contains the reason. Never
   * throws.
   */
  async open(hookArguments: readonly unknown[]): Promise<void> {
    this.#suiteTask = hookArguments.find(
      (value) => typeof value === "object" && value !== null && "tasks" in value,
    );
    const { datasetName, enabled, ...options } = this.#options;
    if (enabled) {
      try {
        this.#store = await ExperimentStore.open({
          ...options,
          datasetName,
          listExamples: (datasetId) => this.#identifyExamples(datasetId),
        });
        return;
      } catch (error) {
        this.#problem = readMessage(error);
        if (!hasReporter()) {
          warn(describeProblem(datasetName, this.#problem));
        }
      }
    }
    this.#identifyExamples(rowNamespace);
  }

  /** Sends the remaining results, and ends the experiment. Never throws. */
  async close(): Promise<void> {
    for (const row of this.#retriedRows.values()) {
      row.end();
    }
    this.#retriedRows.clear();
    const problems = (await this.#store?.close()) ?? [];
    await this.#idleClient?.close();
    for (const problem of problems) {
      warn(`${this.#options.datasetName}: ${problem}`);
    }
  }

  async runTest(test: ExampleTest, context: TestContext): Promise<void> {
    const row = this.#retriedRows.get(context.task) ?? this.#createRow(test, context.task);
    this.#retriedRows.delete(context.task);
    const attempt = row.begin(context);
    // Vitest calls these functions in reverse order of their registration. This one is registered first, so it is
    // called after those that the test function registers. It is also called if the test times out.
    context.onTestFinished(() => {
      this.#finish(row, attempt);
    });
    await row.call(attempt, test.fn);
  }

  #identifyExamples(namespace: string): readonly TestExample[] {
    const ids = new RowIds(namespace);
    this.#examples = this.#drafts.map((draft) => ({ ...draft, id: ids.create(draft) }));
    return this.#examples;
  }

  #createRow({ example: index, repetition, repetitions }: ExampleTest, task: TaskView): TestRow {
    const example = this.#examples[index];
    if (example === undefined || !isWithin(task, this.#suiteTask)) {
      throw new ValidationError(
        `test ${JSON.stringify(task.name)}: call it within \`describe\` of millrace/vitest, whose name is also the name of the dataset`,
      );
    }
    // Vitest's own option `repeats` calls a test several times.
    const repeatCount = task.result?.repeatCount ?? 0;
    return new TestRow({
      datasetName: this.#options.datasetName,
      example,
      repetition: repeatCount * repetitions + repetition,
      store: this.#store,
      problem: this.#problem,
      evaluators: this.#options.evaluators,
      createRunner: (evaluators, signal) => this.#createRunner(evaluators, signal),
    });
  }

  #createRunner(evaluators: readonly NamedEvaluator[], signal: AbortSignal): RowRunner {
    const client = this.#store?.client ?? (this.#idleClient ??= new Client({ enabled: false }));
    return new RowRunner({
      client,
      project: this.#store?.project ?? { id: noExperimentId, name: this.#options.experimentName },
      evaluators,
      evaluatorProject: this.#options.evaluatorProject ?? defaultEvaluatorProject,
      timeoutMs: ranges.timeoutMs.fallback,
      retries: 0,
      signal,
    });
  }

  #finish(row: TestRow, attempt: TestAttempt): void {
    const hasFailed = row.close(attempt);
    if (hasFailed && mayBeRetried(attempt.task)) {
      this.#retriedRows.set(attempt.task, row);
    } else {
      row.end();
    }
  }
}

/** Whether a test is in a suite, at any depth. */
function isWithin({ suite }: TaskView, suiteTask: unknown): boolean {
  let ancestor = suite;
  while (ancestor !== undefined && ancestor !== suiteTask) {
    ancestor = ancestor.suite;
  }
  return ancestor !== undefined;
}

/** Whether vitest may call a failed test again. */
function mayBeRetried({ retry, result }: TaskView): boolean {
  const limit = typeof retry === "object" ? (retry.count ?? 0) : (retry ?? 0);
  return (result?.retryCount ?? 0) < limit;
}

/** Whether the reporter is installed. It prints each warning once for all files. */
const hasReporter = (): boolean =>
  (inject(reporterKey as keyof ProvidedContext) as unknown) === true;

const warn = (message: string): void => {
  // oxlint-disable-next-line no-console -- vitest shows the output of a test together with the name of its file
  console.warn(`[millrace] ${message}`);
};
