import { expectTypeOf, test } from "vitest";
import type { TestContext } from "vitest";
import { exactMatch } from "../../src/evaluation/index.ts";
import type { ExperimentInfo, RowScore } from "../../src/evaluation/index.ts";
import {
  describe as describeDataset,
  expect as expectScored,
  score,
  test as testExample,
} from "../../src/evaluation/vitest/index.ts";

test("types flow from the example to the test function", () => {
  testExample(
    "a",
    { inputs: { question: "a" }, referenceOutputs: { answer: 1 }, retry: 1 },
    ({ inputs, referenceOutputs, experiment, repetition, task }) => {
      expectTypeOf(inputs).toEqualTypeOf<{ question: string }>();
      expectTypeOf(referenceOutputs).toEqualTypeOf<{ answer: number }>();
      expectTypeOf(experiment).toEqualTypeOf<ExperimentInfo | undefined>();
      expectTypeOf(repetition).toEqualTypeOf<number>();
      expectTypeOf(task).toEqualTypeOf<TestContext["task"]>();
      expectScored(inputs.question, "a question").toBe("a");
    },
    1_000,
  );
  testExample.skip.concurrent("a", { inputs: { question: "a" } }, ({ referenceOutputs }) => {
    expectTypeOf(referenceOutputs).toEqualTypeOf<undefined>();
  });
});

test("types flow from a table to the test function", () => {
  testExample.each([
    { inputs: { question: "a" }, referenceOutputs: { answer: 1 }, level: 1 },
    { inputs: { question: "b" }, referenceOutputs: { answer: 2 }, level: 2 },
  ])("$inputs.question", ({ inputs, referenceOutputs, level }) => {
    expectTypeOf(inputs).toEqualTypeOf<{ question: string }>();
    expectTypeOf(referenceOutputs).toEqualTypeOf<{ answer: number }>();
    expectTypeOf(level).toEqualTypeOf<number>();
  });
  const rows: { inputs: { a: number } }[] = [];
  testExample.only.each(rows)("row", { repetitions: 2 }, ({ inputs, referenceOutputs }) => {
    expectTypeOf(inputs).toEqualTypeOf<{ a: number }>();
    expectTypeOf(referenceOutputs).toEqualTypeOf<undefined>();
  });
});

test("evaluators have types of their own, and an unknown option does not compile", () => {
  describeDataset(
    "a",
    {
      evaluators: [
        exactMatch(),
        ({ outputs }: { outputs: { answer: string } }) => outputs.answer === "",
      ],
    },
    () => {},
  );
  // @ts-expect-error -- the option is `repetitions`
  describeDataset("a", { repetition: 2 }, () => {});
  // @ts-expect-error -- inputs are objects
  testExample("a", { inputs: "text" }, () => {});
  expectTypeOf(score(exactMatch(), { answer: 1 })).resolves.toEqualTypeOf<readonly RowScore[]>();
  expectTypeOf(score("length", { score: 1, comment: "short" })).toEqualTypeOf<void>();
});
