import { expectTypeOf, test } from "vitest";
import { cachedFetch, evaluate } from "../../src/evaluation/index.ts";
import type { EvaluateOptions } from "../../src/evaluation/index.ts";
import type { KeyValues } from "../../src/main/index.ts";

interface Question {
  readonly question: string;
}
interface Answer {
  readonly answer: string;
}

test("types flow from the data to the target and the evaluators", async () => {
  const rows: { inputs: Question; outputs: Answer }[] = [];
  const result = await evaluate(
    (inputs, { signal }) => {
      expectTypeOf(inputs).toEqualTypeOf<Question>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      return { text: inputs.question, length: 3 };
    },
    {
      data: rows,
      evaluators: [
        ({ inputs, outputs, referenceOutputs, example }) => {
          expectTypeOf(inputs).toEqualTypeOf<Question>();
          expectTypeOf(outputs).toEqualTypeOf<{ text: string; length: number }>();
          expectTypeOf(referenceOutputs).toEqualTypeOf<Answer>();
          expectTypeOf(example.id).toEqualTypeOf<string>();
          return outputs.text === referenceOutputs.answer;
        },
      ],
      onRow: (row) => {
        expectTypeOf(row.outputs).toEqualTypeOf<{ text: string; length: number } | undefined>();
      },
    },
  );
  for await (const row of result.readRows()) {
    expectTypeOf(row.inputs).toEqualTypeOf<Question>();
  }
});

test("a generator of rows gives the types too", () => {
  async function* rows() {
    await Promise.resolve();
    yield { inputs: { n: 1 }, outputs: 2 };
  }
  void evaluate(({ n }) => Promise.resolve(n + 1), {
    data: rows(),
    evaluators: [
      ({ outputs, referenceOutputs }) => {
        expectTypeOf(outputs).toEqualTypeOf<number>();
        expectTypeOf(referenceOutputs).toEqualTypeOf<number>();
        return outputs - referenceOutputs;
      },
    ],
  });
});

test("a dataset has the types that the target declares, or free-form ones", () => {
  void evaluate((inputs: Question): Answer => ({ answer: inputs.question }), {
    data: "questions",
    evaluators: [
      ({ inputs, outputs, referenceOutputs }) => {
        expectTypeOf(inputs).toEqualTypeOf<Question>();
        expectTypeOf(outputs).toEqualTypeOf<Answer>();
        expectTypeOf(referenceOutputs).toEqualTypeOf<KeyValues>();
        return true;
      },
    ],
  });
  void evaluate(
    (inputs) => {
      expectTypeOf(inputs).toEqualTypeOf<KeyValues>();
      return 1;
    },
    { data: { datasetName: "questions", splits: ["test"] } },
  );
});

test("scorers of autoevals fit every target", () => {
  const levenshtein = (_: { output: string; expected?: string }) => ({
    name: "Levenshtein",
    score: 1,
  });
  const evaluation = evaluate(() => ({ a: 1, b: 2 }), {
    data: "questions",
    evaluators: [levenshtein],
  });
  expectTypeOf(evaluation).toExtend<PromiseLike<object>>();
});

test("unknown options and modes do not compile", () => {
  expectTypeOf<EvaluateOptions>().not.toHaveProperty("evaluator");
  // @ts-expect-error -- the option is `evaluators`
  void evaluate(() => 1, { data: "questions", evaluator: [] });
  void evaluate(() => 1, { data: "questions", cache: { mode: "replay", folder: "answers" } });
  // @ts-expect-error -- there is no such mode
  void evaluate(() => 1, { data: "questions", cache: "always" });
  expectTypeOf(cachedFetch()).toEqualTypeOf<typeof fetch>();
});
