import { currentRun } from "millrace";
import {
  describe as millraceDescribe,
  logOutputs,
  score,
  test as millraceTest,
} from "millrace/vitest";
import type { DescribeFunction, TestFunction as MillraceTest } from "millrace/vitest";
import process from "node:process";
import { afterAll, test as vitestTest } from "vitest";
import type { Any } from "../../any.ts";
import type { Client } from "../../client/client.ts";
import type { CreateExampleOptions } from "../../client/example-methods.ts";
import type { CreateProjectParams } from "../../client/project-methods.ts";
import { flushSharedClient } from "../../client/shared-client.ts";
import { isEnvTracingEnabled, warnOnce } from "../../environment.ts";
import type { KVMap } from "../../schemas.ts";
import { getCurrentRunTree } from "../../tracing/current-run.ts";
import type { RunTreeConfig } from "../../tracing/run-tree.ts";
import type { EvaluationResult } from "../../client/evaluation-result.ts";
import { currentTest, readCurrentTest } from "./current-test.ts";

/** Options of the run of a test. */
export type LangSmithJestlikeWrapperConfig = Partial<Omit<RunTreeConfig, "client">> & {
  repetitions?: number;
  enableTestTracking?: boolean;
};

/** The example of a test, and its options. */
export type LangSmithJestlikeWrapperParams<I, O> = {
  id?: string;
  inputs: I;
  referenceOutputs?: O;
  config?: LangSmithJestlikeWrapperConfig;
} & Pick<CreateExampleOptions, "split" | "metadata">;

/** Options of `describe` and its experiment. */
export type LangSmithJestlikeDescribeWrapperConfig = {
  client?: Client;
  enableTestTracking?: boolean;
  testSuiteName?: string;
} & Partial<Omit<CreateProjectParams, "referenceDatasetId">>;

/** Creates a suite. Its tests become an experiment over the dataset of this name. */
export type LangSmithJestlikeDescribeWrapper = (
  name: string,
  fn: () => void | Promise<void>,
  config?: LangSmithJestlikeDescribeWrapperConfig,
) => void;

/** The ids of a test's example and experiment, which the function of the test gets. */
export interface LangSmithJestlikeTestMetadata {
  exampleId?: string;
  experimentId?: string;
  datasetId?: string;
  testTrackingEnabled: boolean;
  /** Counted from 0. */
  repetition: number;
  split?: string | string[];
}

/**
 * The function that runs a test. It receives the example, and the value that it returns becomes the outputs of the run.
 */
export type LangSmithJestlikeTestFunction<I, O> = (
  data: {
    inputs: I;
    referenceOutputs?: O;
    testMetadata: LangSmithJestlikeTestMetadata;
  } & Record<string, Any>,
) => unknown;

interface EachMethod {
  <I extends KVMap, O extends KVMap>(
    table: ({ id?: string; inputs: I; referenceOutputs?: O } & Record<string, Any>)[],
    config?: LangSmithJestlikeWrapperConfig,
  ): (name: string, fn: LangSmithJestlikeTestFunction<I, O>, timeout?: number) => void;
}

/** `test` and its variants. */
export interface LangSmithTest {
  <
    I extends Record<string, Any> = Record<string, Any>,
    O extends Record<string, Any> = Record<string, Any>,
  >(
    name: string,
    lsParams: LangSmithJestlikeWrapperParams<I, O>,
    testFn: LangSmithJestlikeTestFunction<I, O>,
    timeout?: number,
  ): void;
  only: LangSmithTest;
  skip: LangSmithTest;
  concurrent: LangSmithTest;
  each: EachMethod;
}

/** `describe` and its variants. */
export type LangSmithDescribe = LangSmithJestlikeDescribeWrapper & {
  only: LangSmithJestlikeDescribeWrapper;
  skip: LangSmithJestlikeDescribeWrapper;
  concurrent: LangSmithJestlikeDescribeWrapper;
};

/**
 * Whether results are stored. Without the option `enableTestTracking`, tracing must be on and LANGSMITH_TEST_TRACKING
 * must not be `false`, as with langsmith.
 */
const isTracked = (enableTestTracking: boolean | undefined): boolean =>
  enableTestTracking ??
  (process.env["LANGSMITH_TEST_TRACKING"] !== "false" && isEnvTracingEnabled());

/**
 * Longest wait for the last records, in milliseconds. It is shorter than vitest's default time limit of a hook, so that
 * no test fails if the server can't be reached.
 */
const flushTimeoutMs = 5_000;

/** Options of `describe` that have an effect. */
const describeOptions = [
  "client",
  "enableTestTracking",
  "testSuiteName",
  "projectName",
  "description",
  "metadata",
];

function wrapDescribe(describe: DescribeFunction): LangSmithJestlikeDescribeWrapper {
  return (name, fn, config = {}) => {
    warnOfIneffectiveOptions("describe", config, describeOptions);
    const { client, testSuiteName, projectName, description, metadata } = config;
    const suite = testSuiteName ?? name;
    describe(
      suite,
      {
        enabled: isTracked(config.enableTestTracking),
        ...(client === undefined ? {} : { client: client.millrace }),
        ...(projectName === undefined ? {} : { experiment: projectName }),
        ...(description === undefined || description === null ? {} : { description }),
        ...(metadata === undefined || metadata === null ? {} : { metadata }),
      },
      async () => {
        // Sends the runs that traced functions recorded outside of tests, because vitest ends its processes without
        // waiting for them.
        afterAll(() => flushSharedClient(flushTimeoutMs));
        await fn();
      },
    );
  };
}

/** Creates suites of tests, each with a dataset and an experiment. */
export const describe: LangSmithDescribe = Object.assign(wrapDescribe(millraceDescribe), {
  only: wrapDescribe(millraceDescribe.only),
  skip: wrapDescribe(millraceDescribe.skip),
  concurrent: wrapDescribe(millraceDescribe.concurrent),
});

type AnyTestFunction = (data: Record<string, unknown>) => unknown;

/** Options of a test that have an effect. */
const testOptions = ["repetitions", "metadata", "tags"];

function wrapTest(millraceTestFunction: MillraceTest): LangSmithTest {
  // oxlint-disable-next-line max-params -- the signature of langsmith
  const test = (
    name: string,
    params: LangSmithJestlikeWrapperParams<KVMap, KVMap>,
    testFn: AnyTestFunction,
    timeout?: number,
  ): void => {
    const { id, inputs, referenceOutputs, config = {}, split, metadata, ...others } = params;
    warnOfIneffectiveOptions("test", config, testOptions);
    millraceTestFunction(
      name,
      {
        inputs,
        ...(referenceOutputs === undefined ? {} : { referenceOutputs }),
        ...(id === undefined ? {} : { id }),
        ...(metadata === undefined ? {} : { metadata }),
        ...(split === undefined ? {} : { splits: [split].flat() }),
        ...(config.repetitions === undefined ? {} : { repetitions: config.repetitions }),
        ...(timeout === undefined ? {} : { timeout }),
      },
      async (context) => {
        const run = getCurrentRunTree(true);
        if (run !== undefined && config.metadata !== undefined) {
          // The children of the run inherit the metadata, as in langsmith.
          run.metadata = config.metadata;
        }
        currentRun()?.addTags(...(config.tags ?? []));
        const { exampleId, experiment, repetition } = context;
        const testMetadata: LangSmithJestlikeTestMetadata = {
          exampleId,
          ...(experiment === undefined
            ? {}
            : {
                experimentId: experiment.id,
                ...(experiment.datasetId === undefined ? {} : { datasetId: experiment.datasetId }),
              }),
          testTrackingEnabled: experiment !== undefined,
          repetition: repetition - 1,
          ...(split === undefined ? {} : { split }),
        };
        const reference = referenceOutputs ?? {};
        // The context becomes the prototype. A copy would read all members of the context, and some of them are created
        // only when they are read.
        const data = Object.assign(Object.create(context) as Record<string, unknown>, others);
        for (const [key, value] of Object.entries({
          inputs,
          referenceOutputs: reference,
          testMetadata,
        })) {
          Object.defineProperty(data, key, { value, enumerable: true });
        }
        const returned = await currentTest.run({ inputs, referenceOutputs: reference }, async () =>
          testFn(data),
        );
        if (returned === undefined || returned === null) {
          return undefined;
        }
        return typeof returned === "object" ? returned : { result: returned };
      },
    );
  };
  const each =
    (
      table: readonly LangSmithJestlikeWrapperParams<KVMap, KVMap>[],
      config?: LangSmithJestlikeWrapperConfig,
    ) =>
    (name: string, fn: AnyTestFunction, timeout?: number): void => {
      for (const [index, row] of table.entries()) {
        const params = config === undefined ? row : { ...row, config };
        test(`${name}, item ${index}`, params, fn, timeout);
      }
    };
  return Object.defineProperties(test, {
    only: { get: () => wrapTest(millraceTestFunction.only) },
    skip: { get: () => skipTest },
    concurrent: { get: () => wrapTest(millraceTestFunction.concurrent) },
    each: { value: each },
  }) as unknown as LangSmithTest;
}

/** Skips a test. As in langsmith, its example is not added to the dataset. */
const skipTest = Object.defineProperties(
  (name: string): void => {
    vitestTest.skip(name, () => {});
  },
  {
    only: { get: () => skipTest },
    skip: { get: () => skipTest },
    concurrent: { get: () => skipTest },
    each: {
      value: (table: readonly unknown[]) => (name: string) => {
        for (const index of table.keys()) {
          vitestTest.skip(`${name}, item ${index}`, () => {});
        }
      },
    },
  },
) as unknown as LangSmithTest;

/** Creates tests, each with an example. */
export const test: LangSmithTest = wrapTest(millraceTest);

/** Records feedback on the current test. */
export function logFeedback(feedback: EvaluationResult): void {
  readCurrentTest("logFeedback");
  const { key, score: value, value: category, comment, correction } = feedback;
  score(key, {
    ...(value === undefined || value === null ? {} : { score: value }),
    ...(category === undefined ? {} : { value: category }),
    ...(comment === undefined ? {} : { comment }),
    ...(correction === undefined ? {} : { correction }),
  });
}

export { logOutputs };

function warnOfIneffectiveOptions(
  name: string,
  config: object,
  knownOptions: readonly string[],
): void {
  for (const option of Object.keys(config)) {
    if (!knownOptions.includes(option)) {
      warnOnce(
        `The option ${option} of ${name} in langsmith/vitest has no effect. Known: ${knownOptions.join(", ")}.`,
      );
    }
  }
}
