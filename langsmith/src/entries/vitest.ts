import { wrapEvaluator } from "../evaluation/vitest/current-test.ts";
import { expect } from "../evaluation/vitest/expect.ts";
import {
  toBeAbsoluteCloseTo,
  toBeRelativeCloseTo,
  toBeSemanticCloseTo,
} from "../evaluation/vitest/matchers.ts";
import { describe, logFeedback, logOutputs, test } from "../evaluation/vitest/tests.ts";

export { describe, expect, logFeedback, logOutputs, test, test as it, wrapEvaluator };
export type {
  SimpleEvaluationResult,
  SimpleEvaluator,
  SimpleEvaluatorParams,
} from "../evaluation/vitest/current-test.ts";
export type {
  LangSmithJestlikeDescribeWrapper,
  LangSmithJestlikeDescribeWrapperConfig,
  LangSmithJestlikeTestFunction,
  LangSmithJestlikeTestMetadata,
  LangSmithJestlikeWrapperConfig,
  LangSmithJestlikeWrapperParams,
} from "../evaluation/vitest/tests.ts";

/**
 * Returns the functions of this module. The argument, which contains functions of vitest, is ignored, because this
 * module imports them itself.
 */
export const wrapVitest = (_methods: object) => ({
  test,
  it: test,
  describe,
  expect,
  logFeedback,
  logOutputs,
  wrapEvaluator,
  toBeRelativeCloseTo,
  toBeAbsoluteCloseTo,
  toBeSemanticCloseTo,
});
