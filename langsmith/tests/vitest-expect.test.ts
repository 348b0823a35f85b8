import {
  expect as lsExpect,
  logFeedback,
  wrapEvaluator,
  wrapVitest,
} from "@millrace/langsmith/vitest";
import * as ls from "@millrace/langsmith/vitest";
import { expect, test } from "vitest";

test("the expectations of vitest are those of vitest", async () => {
  lsExpect({ a: 1 }).toEqual({ a: 1 });
  lsExpect(2).not.toBe(1);
  await lsExpect(Promise.resolve(3)).resolves.toBe(3);
  lsExpect({ a: 1, b: 2 }).toEqual(lsExpect.objectContaining({ a: 1 }));
  expect(() => lsExpect(1).toBe(2)).toThrow("expected 1 to be 2");
  await expect(lsExpect("umbrella").toBeAbsoluteCloseTo("parasol")).rejects.toThrow(
    /^Expected "umbrella" to be absolutely close to "parasol" \(threshold 3, distance 7\)/,
  );
  await expect(lsExpect("umbrella").not.toBeRelativeCloseTo("umbrella")).rejects.toThrow(
    'Expected "umbrella" not to be relatively close',
  );
});

test("outside of a test of langsmith/vitest, evaluators and feedback are refused by name", async () => {
  const evaluator = async () => ({ key: "key", score: 1 });
  expect(() => lsExpect("text").evaluatedBy(evaluator)).toThrow(
    "evaluatedBy must be called within a test of langsmith/vitest.",
  );
  await expect(wrapEvaluator(evaluator)(1)).rejects.toThrow("wrapEvaluator must be called within");
  expect(() => logFeedback({ key: "key", score: 1 })).toThrow("logFeedback must be called within");
});

test("wrapVitest returns the same functions", () => {
  expect(wrapVitest({})).toMatchObject({ test: ls.test, it: ls.it, describe: ls.describe });
});
