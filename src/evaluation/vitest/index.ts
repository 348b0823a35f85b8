export { describe, test, test as it } from "./test-functions.ts";
export { expect } from "./expect.ts";
export { logOutputs, score } from "./scoring.ts";
export type {
  DescribeFunction,
  EachFunction,
  ExampleContext,
  ExampleFunction,
  ReferenceOf,
  TestFunction,
} from "./test-functions.ts";
export type {
  DescribeOptions,
  ExampleTestOptions,
  TestExampleFields,
  TestRunOptions,
} from "./options.ts";
export type { ExampleArguments } from "./test-row.ts";
