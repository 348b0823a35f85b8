import { afterAll, beforeAll, describe as vitestDescribe, test as vitestTest } from "vitest";
import type { TestContext } from "vitest";
import { ValidationError } from "../../main/index.ts";
import type { KeyValues } from "../../main/index.ts";
import { ranges, readNumber } from "../option-checks.ts";
import { expect } from "./expect.ts";
import { DatasetSuite } from "./dataset-suite.ts";
import type { ExampleIndex } from "./dataset-suite.ts";
import { closeHookTimeoutMs, openTimeoutMs } from "./experiment-store.ts";
import { readDescribeOptions, readExample, readRunOptions, readTestOptions } from "./options.ts";
import type {
  DescribeOptions,
  ExampleTestOptions,
  TestExampleFields,
  TestRunOptions,
} from "./options.ts";
import type { ExampleArguments } from "./test-row.ts";

/** Argument of a test function: its example, and vitest's context. */
export type ExampleContext<Inputs, Reference> = ExampleArguments<Inputs, Reference> & TestContext;

/** The function of a test. The value that it returns becomes the outputs. */
export type ExampleFunction<Inputs, Reference, Row = unknown> = (
  context: ExampleContext<Inputs, Reference> & Row,
) => unknown;

/** The reference outputs of a row; `undefined` if it has none. */
export type ReferenceOf<Row> = Row extends { readonly referenceOutputs?: infer Reference }
  ? Reference
  : undefined;

/** Creates the tests of a table of examples. */
export type EachFunction<Inputs, Reference, Row> = {
  /**
   * The name may contain vitest's placeholders, such as `$inputs.question` and `%#`. Otherwise a number is appended.
   */
  (name: string, fn: ExampleFunction<Inputs, Reference, Row>, timeout?: number): void;
  (name: string, options: TestRunOptions, fn: ExampleFunction<Inputs, Reference, Row>): void;
};

/** Creates tests, each with an example. Use it within `describe` of millrace/vitest. */
export interface TestFunction {
  /** @throws `ValidationError` if an option is invalid, or outside of `describe`. */
  <Inputs extends object = KeyValues, Reference extends object | undefined = undefined>(
    name: string,
    options: ExampleTestOptions<Inputs, Reference>,
    fn: ExampleFunction<Inputs, Reference>,
    timeout?: number,
  ): void;
  /** Runs only this test of the file. */
  readonly only: TestFunction;
  /** Does not run the test. */
  readonly skip: TestFunction;
  /** Runs the test concurrently with other concurrent tests. */
  readonly concurrent: TestFunction;
  /** Does not run the test if the condition is met. */
  skipIf(condition: unknown): TestFunction;
  /** Runs the test only if the condition is met. */
  runIf(condition: unknown): TestFunction;
  /** Creates a test for each row of a table. Additional members of a row are passed to the test function. */
  each<Row extends TestExampleFields<object, object | undefined>>(
    rows: readonly Row[],
  ): EachFunction<Row["inputs"], ReferenceOf<Row>, Omit<Row, keyof TestExampleFields>>;
}

/** Creates suites, each with a dataset and an experiment. */
export interface DescribeFunction {
  /** @throws `ValidationError` if an option is invalid, or within another `describe` of millrace/vitest. */
  (name: string, fn: () => void | Promise<void>): void;
  <Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>(
    name: string,
    options: DescribeOptions<Inputs, Outputs, Reference>,
    fn: () => void | Promise<void>,
  ): void;
  /** Runs only this suite of the file. */
  readonly only: DescribeFunction;
  /** Does not run the suite. */
  readonly skip: DescribeFunction;
  /** Runs the tests of the suite concurrently. */
  readonly concurrent: DescribeFunction;
  /** Does not run the suite if the condition is met. */
  skipIf(condition: unknown): DescribeFunction;
  /** Runs the suite only if the condition is met. */
  runIf(condition: unknown): DescribeFunction;
}

/** The suite whose tests are being collected, with the options that its tests inherit. */
interface OpenSuite {
  readonly suite: DatasetSuite;
  readonly repetitions: number;
}

/**
 * The suite whose tests vitest collects. It stays set after the function of its `describe` has returned: vitest calls
 * the functions of nested `describe` blocks later, but before the function of the next suite, and the nested tests
 * belong to this suite, too.
 */
let openSuite: OpenSuite | undefined;
/** Whether the function that was passed to a suite's `describe` is running. */
let isCollecting = false;

/** The properties of vitest's `describe` and `test` that return variants of the function. */
interface VitestVariants {
  readonly only: unknown;
  readonly skip: unknown;
  readonly concurrent: unknown;
}
interface VitestDescribe extends VitestVariants {
  (name: string, fn: () => unknown): void;
}
interface VitestTest extends VitestVariants {
  (name: string, options: object, fn: (context: TestContext) => Promise<void>): void;
  for<Item>(
    items: readonly Item[],
  ): (
    name: string,
    options: object,
    fn: (item: Item, context: TestContext) => Promise<void>,
  ) => void;
}

/**
 * Creates a suite of tests. Its name is the name of a dataset, each test has an example of the dataset, and each run of
 * the suite is an experiment.
 */
export const describe: DescribeFunction = createDescribe(vitestDescribe as VitestDescribe);

/** Creates the test of an example. */
export const test: TestFunction = createTest(vitestTest);

function createDescribe(base: VitestDescribe): DescribeFunction {
  const describeDataset = (name: string, ...otherArguments: readonly unknown[]): void => {
    const { options, fn } = readArguments("describe", otherArguments);
    const { repetitions, ...suiteOptions } = readDescribeOptions(name, options);
    if (isCollecting) {
      throw new ValidationError(
        `describe: ${JSON.stringify(name)} is within another describe of millrace/vitest, but each has a dataset of its own. To group tests, use vitest's describe`,
      );
    }
    base(name, async () => {
      const suite = new DatasetSuite(suiteOptions);
      // Vitest passes the task of the suite as the first argument, and since 4.1 as the second. The hook declares no
      // parameters, because vitest 4.1 parses the parameters and requires the first to be a destructuring pattern with
      // names of fixtures.
      beforeAll(function openSuiteOnce() {
        return suite.open([...arguments]);
      }, openTimeoutMs);
      afterAll(() => suite.close(), closeHookTimeoutMs);
      openSuite = { suite, repetitions };
      isCollecting = true;
      try {
        await (fn as () => unknown)();
      } finally {
        isCollecting = false;
      }
    });
  };
  return addVariants(describeDataset, base, (variant) =>
    createDescribe(variant as VitestDescribe),
  ) as DescribeFunction;
}

function createTest(base: VitestTest): TestFunction {
  const testExample = (name: string, ...otherArguments: readonly unknown[]): void => {
    const { options, fn, timeout } = readArguments("test", otherArguments);
    const { suite, repetitions } = requireSuite();
    const subject = `test ${JSON.stringify(name)}`;
    const testOptions = options as ExampleTestOptions;
    const example = suite.addExample(readTestOptions(subject, testOptions));
    const run = { suite, example, fn: fn as ExampleFunction<unknown, unknown> };
    const count = readNumber(
      "repetitions",
      testOptions.repetitions ?? repetitions,
      ranges.repetitions,
    );
    for (const repetition of listRepetitions(count)) {
      base(
        nameRepetition(name, repetition, count),
        toVitestOptions(testOptions, timeout),
        (context) => runTest({ ...run, repetition, repetitions: count }, context),
      );
    }
  };
  const each =
    (rows: readonly TestExampleFields[]) =>
    (name: string, ...otherArguments: readonly unknown[]): void => {
      const { options, fn, timeout } = readArguments("test.each", otherArguments);
      const { suite, repetitions } = requireSuite();
      if (!Array.isArray(rows)) {
        throw new ValidationError("test.each: pass an array of examples such as { inputs }");
      }
      const runOptions = readRunOptions("test.each", options);
      const items = rows.map((row: TestExampleFields, index) => {
        const subject = `test.each ${JSON.stringify(name)}, row ${index + 1}`;
        return { ...row, [exampleKey]: suite.addExample(readExample(subject, row)) };
      });
      const title = /[%$]/.test(name) ? name : `${name} (%#)`;
      const count = readNumber(
        "repetitions",
        runOptions.repetitions ?? repetitions,
        ranges.repetitions,
      );
      for (const repetition of listRepetitions(count)) {
        base.for(items)(
          nameRepetition(title, repetition, count),
          toVitestOptions(runOptions, timeout),
          ({ [exampleKey]: example, ...row }, context) =>
            runTest(
              {
                suite,
                example,
                repetition,
                repetitions: count,
                row,
                fn: fn as ExampleFunction<unknown, unknown>,
              },
              context,
            ),
        );
      }
    };
  return addVariants(Object.assign(testExample, { each }), base, (variant) =>
    createTest(variant as VitestTest),
  ) as unknown as TestFunction;
}

/**
 * Key of the member of a row that contains the index of its example. It is a symbol, so that placeholders in the name
 * of a test can't refer to it.
 */
const exampleKey = Symbol("example");

interface TestRun {
  readonly suite: DatasetSuite;
  readonly example: ExampleIndex;
  readonly repetition: number;
  readonly repetitions: number;
  /** The row of a table. */
  readonly row?: object;
  readonly fn: ExampleFunction<unknown, unknown>;
}

function runTest({ suite, row, fn, ...run }: TestRun, context: TestContext): Promise<void> {
  return suite.runTest(
    {
      ...run,
      // Vitest's context is used as the prototype instead of being copied, because some of its members are created when
      // they are read.
      fn: (args) =>
        fn(
          Object.create(
            context,
            Object.getOwnPropertyDescriptors({ ...row, ...args, expect }),
          ) as ExampleContext<unknown, unknown>,
        ),
    },
    context,
  );
}

/** Adds the properties that return a variant of a function. */
function addVariants<Fn extends object>(
  fn: Fn,
  base: VitestVariants,
  create: (variant: unknown) => unknown,
): Fn {
  const variants = {
    get only() {
      return create(base.only);
    },
    get skip() {
      return create(base.skip);
    },
    get concurrent() {
      return create(base.concurrent);
    },
    skipIf: (condition: unknown) => (condition ? create(base.skip) : fn),
    runIf: (condition: unknown) => (condition ? fn : create(base.skip)),
  };
  return Object.defineProperties(fn, Object.getOwnPropertyDescriptors(variants));
}

/**
 * Reads the arguments after the name: options if the first argument is an object, then a function and an optional
 * timeout.
 */
function readArguments(
  subject: string,
  [first, second, third]: readonly unknown[],
): { readonly options: object; readonly fn: unknown; readonly timeout: unknown } {
  const hasOptions = typeof first === "object" && first !== null;
  const [fn, timeout] = hasOptions ? [second, third] : [first, second];
  if (typeof fn !== "function" || (subject === "test" && !hasOptions)) {
    throw new ValidationError(
      `${subject}: pass ${subject === "test" ? "a name, an example such as { inputs, referenceOutputs } and a function" : "a name and a function"}`,
    );
  }
  if (timeout !== undefined && typeof timeout !== "number") {
    throw new ValidationError(`${subject}: the timeout must be a number of milliseconds`);
  }
  return { options: hasOptions ? first : {}, fn, timeout };
}

function requireSuite(): OpenSuite {
  if (openSuite === undefined) {
    throw new ValidationError(
      "test: call it within `describe` of millrace/vitest, whose name is also the name of the dataset",
    );
  }
  return openSuite;
}

const toVitestOptions = (
  { timeout, retry }: TestRunOptions,
  lastArgument: unknown,
): { readonly timeout?: unknown; readonly retry?: number } => {
  const limit = timeout ?? lastArgument;
  return {
    ...(limit === undefined ? {} : { timeout: limit }),
    ...(retry === undefined ? {} : { retry }),
  };
};

const listRepetitions = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => index + 1);

const nameRepetition = (name: string, repetition: number, count: number): string =>
  count === 1 ? name : `${name} (repetition ${repetition} of ${count})`;
