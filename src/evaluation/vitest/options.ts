import { ValidationError } from "../../main/index.ts";
import type { Client, KeyValues } from "../../main/index.ts";
import { checkKeys } from "../../model/index.ts";
import type { KeyTable } from "../../model/index.ts";
import type { Evaluator } from "../evaluator.ts";
import { checkStoredOptions, checkText, ranges, readNumber } from "../option-checks.ts";
import { toJsonValue } from "../rows/json-value.ts";
import { toNamedEvaluators } from "../rows/row-runner.ts";
import type { ExampleDraft, SuiteOptions } from "./dataset-suite.ts";

/** The dataset and the experiment that store the examples and results of a `describe`. */
export interface DescribeOptions<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> {
  /** Name of the dataset. @defaultValue the name of the `describe` */
  readonly dataset?: string | undefined;
  /** Name of the experiment. If it is taken, a number is appended. @defaultValue `vitest on`, and the dataset's name */
  readonly experiment?: string | undefined;
  /** Description of the experiment. */
  readonly description?: string | undefined;
  /** Metadata that is stored with the experiment. */
  readonly metadata?: KeyValues | undefined;
  /** Evaluators that are called after each test that has not thrown, with the outputs that it returned or logged. */
  readonly evaluators?: readonly Evaluator<Inputs, Outputs, Reference>[] | undefined;
  /** Project of the evaluators' runs. @defaultValue `"evaluators"` */
  readonly evaluatorProject?: string | undefined;
  /** How often each test runs, 1 to 1,000. The test's own option takes precedence. @defaultValue 1 */
  readonly repetitions?: number | undefined;
  /** Whether results are stored. @defaultValue true */
  readonly enabled?: boolean | undefined;
  /** @defaultValue a client that the environment configures, which is closed at the end */
  readonly client?: Client | undefined;
}

/** What a test passes for its example, which is created in the dataset or updated there. */
export interface TestExampleFields<
  Inputs extends object = KeyValues,
  Reference extends object | undefined = KeyValues | undefined,
> {
  readonly inputs: Inputs;
  /** The expected outputs. */
  readonly referenceOutputs?: Reference;
  /**
   * Identifies the example in its dataset. A string that is not a UUID is converted to one.
   *
   * @defaultValue an id that is derived from inputs and reference outputs, and from the number of equal examples before
   * this one
   */
  readonly id?: string | undefined;
  /** Metadata of the example. */
  readonly metadata?: KeyValues | undefined;
  readonly splits?: readonly string[] | undefined;
}

/** How a test runs. */
export interface TestRunOptions {
  /** How often the test runs, 1 to 1,000, each time as a test of its own. @defaultValue the option of the `describe` */
  readonly repetitions?: number | undefined;
  /** Vitest's option `timeout`: the time limit of the test, in milliseconds. */
  readonly timeout?: number | undefined;
  /** Vitest's option `retry`: how often the test is repeated if it fails. */
  readonly retry?: number | undefined;
}

/** The example of a test, and how the test runs. */
export interface ExampleTestOptions<
  Inputs extends object = KeyValues,
  Reference extends object | undefined = KeyValues | undefined,
>
  extends TestExampleFields<Inputs, Reference>, TestRunOptions {}

const describeKeys: KeyTable<DescribeOptions> = {
  dataset: 1,
  experiment: 1,
  description: 1,
  metadata: 1,
  evaluators: 1,
  evaluatorProject: 1,
  repetitions: 1,
  enabled: 1,
  client: 1,
};

const runKeys: KeyTable<TestRunOptions> = { repetitions: 1, timeout: 1, retry: 1 };

const exampleKeys: KeyTable<ExampleTestOptions> = {
  ...runKeys,
  inputs: 1,
  referenceOutputs: 1,
  id: 1,
  metadata: 1,
  splits: 1,
};

/** @throws {@link ValidationError} if an option is invalid. */
export function readDescribeOptions(
  name: string,
  options: DescribeOptions<unknown, unknown, unknown>,
): SuiteOptions & { readonly repetitions: number } {
  checkKeys<DescribeOptions<unknown, unknown, unknown>>(options, describeKeys, {
    subject: "describe",
    error: ValidationError,
  });
  const { description, metadata, client, enabled = true } = options;
  const datasetName = checkText("dataset", options.dataset ?? name) ?? name;
  if (typeof enabled !== "boolean") {
    throw new ValidationError("describe: `enabled` must be true or false");
  }
  checkStoredOptions(options);
  return {
    datasetName,
    experimentName: checkText("experiment", options.experiment) ?? `vitest on ${datasetName}`,
    description,
    metadata,
    evaluators: toNamedEvaluators(options.evaluators ?? []),
    evaluatorProject: checkText("evaluatorProject", options.evaluatorProject),
    repetitions: readNumber("repetitions", options.repetitions, ranges.repetitions),
    enabled,
    client,
  };
}

/** @throws {@link ValidationError} if the example or an option is invalid. */
export function readTestOptions(subject: string, options: ExampleTestOptions): ExampleDraft {
  checkKeys<ExampleTestOptions>(options, exampleKeys, { subject, error: ValidationError });
  return readExample(subject, options);
}

/** @throws {@link ValidationError} if an option is invalid. */
export function readRunOptions(subject: string, options: TestRunOptions): TestRunOptions {
  checkKeys<TestRunOptions>(options, runKeys, { subject, error: ValidationError });
  return options;
}

/** @throws {@link ValidationError} if the example is invalid. */
export function readExample(
  subject: string,
  { inputs, referenceOutputs, id, metadata, splits }: TestExampleFields<object, object | undefined>,
): ExampleDraft {
  if (id !== undefined && (typeof id !== "string" || id === "")) {
    throw new ValidationError(`${subject}: \`id\` must be a non-empty string`);
  }
  if (splits !== undefined && !Array.isArray(splits)) {
    throw new ValidationError(`${subject}: \`splits\` must be an array of strings`);
  }
  return {
    id,
    inputs: readPayload(`${subject}: \`inputs\``, inputs),
    ...(referenceOutputs === undefined
      ? {}
      : { outputs: readPayload(`${subject}: \`referenceOutputs\``, referenceOutputs) }),
    ...(metadata && { metadata: readPayload(`${subject}: \`metadata\``, metadata) }),
    ...(splits && { splits }),
  };
}

/**
 * @throws {@link ValidationError} if a value is not an object that JSON can represent, because the server stores only
 * such objects.
 */
function readPayload(subject: string, value: unknown): KeyValues {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ValidationError(`${subject} must be an object, such as { question: "…" }`);
  }
  const { json, problems } = toJsonValue(value, "the value");
  if (problems.length > 0) {
    throw new ValidationError(
      `${subject} can't be stored as an example: ${problems[0]?.replace(/;.*$/s, "")}`,
    );
  }
  return json as KeyValues;
}
