import type { ExperimentInfo } from "../result.ts";

/** A score in a result for the reporter. */
export interface ReportedScore {
  readonly key: string;
  readonly score?: number | boolean | undefined;
  readonly error?: string | undefined;
}

/** The result of a test, for the reporter. Vitest copies it from the test's process to the reporter's process. */
export interface TestResult {
  /** The dataset's name. */
  readonly dataset: string;
  /** Absent if nothing is stored. */
  readonly experiment?: Pick<ExperimentInfo, "id" | "name" | "url"> | undefined;
  /** Why nothing is stored. */
  readonly problem?: string | undefined;
  readonly scores: readonly ReportedScore[];
  readonly durationMs: number;
  readonly hasFailed: boolean;
}

/** The member of a test's metadata that contains its result. */
const metaKey = "millrace";

/** Key of the value that the reporter provides to tests: `true` if the reporter prints their warnings. */
export const reporterKey = "millrace:reporter";

/** Writes the result of a test into its metadata. */
export function writeTestResult(meta: object, result: TestResult): void {
  Reflect.set(meta, metaKey, result);
}

/** Reads the result of a test; `undefined` for a test of another kind. */
export const readTestResult = (meta: object): TestResult | undefined =>
  Reflect.get(meta, metaKey) as TestResult | undefined;

/** Describes why the results of tests are not stored. */
export const describeProblem = (dataset: string, problem: string): string =>
  `Nothing is stored for ${JSON.stringify(dataset)}: ${problem}. The tests run nevertheless.`;
