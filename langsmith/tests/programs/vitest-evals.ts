/* oxlint-disable vitest/no-standalone-expect, vitest/valid-expect -- the tests are those of langsmith */
/* oxlint-disable typescript/no-unsafe-call, typescript/no-unsafe-member-access -- langsmith's types of expect are those of jest,
   which is not installed */
// Tests of vitest that are examples of datasets. `vitest-evals.test.ts` runs them with each package.
import { expect } from "vitest";
import * as ls from "langsmith/vitest";
import type { SimpleEvaluator } from "langsmith/vitest";
import { traceable } from "langsmith/traceable";

const capitals: Record<string, string> = { France: "Paris", Norway: "Oslo", Peru: "Lima" };

const search = traceable(async (country: string) => capitals[country] ?? "unknown", {
  name: "search",
  run_type: "retriever",
  tags: ["atlas"],
});

const findCapital = traceable(
  async ({ country }: { country: string }) => ({ capital: await search(country) }),
  { name: "find capital" },
);

/** Judges the length of an answer. */
const brevity: SimpleEvaluator = ({ outputs, referenceOutputs }) => ({
  key: "brevity",
  score: Number(outputs["capital"].length <= referenceOutputs["capital"].length),
  comment: `said ${outputs["capital"]}`,
});

/** Judges two things at once. */
const parts = async (input: { outputs: { capital: string }; inputs: { country: string } }) => [
  { key: "starts", score: input.outputs.capital[0] === input.inputs.country[0] },
  { key: "letters", score: input.outputs.capital.length },
];

ls.describe(
  "capitals",
  () => {
    ls.test(
      "knows France",
      { inputs: { country: "France" }, referenceOutputs: { capital: "Paris" } },
      async ({ inputs, referenceOutputs }) => {
        const outputs = await findCapital(inputs);
        expect(outputs).toEqual(referenceOutputs);
        ls.logFeedback({ key: "accuracy", score: 1, comment: "exact" });
        await ls.expect(outputs).evaluatedBy(brevity).toBeGreaterThan(0.5);
        return outputs;
      },
    );

    ls.test(
      "guesses Atlantis",
      {
        inputs: { country: "Atlantis" },
        referenceOutputs: { capital: "none" },
        split: ["hard"],
        metadata: { real: false },
      },
      async ({ inputs, referenceOutputs }) => {
        const outputs = await findCapital(inputs);
        ls.logOutputs(outputs);
        ls.logFeedback({ key: "accuracy", score: 0 });
        expect(outputs.capital).toBe(referenceOutputs?.capital);
      },
    );

    ls.test(
      "is judged too long",
      { inputs: { country: "Norway" }, referenceOutputs: { capital: "Osl" } },
      async ({ inputs }) => {
        const outputs = await findCapital(inputs);
        ls.logOutputs(outputs);
        await ls.expect(outputs).evaluatedBy(brevity).toBe(1);
      },
    );

    ls.test(
      "returns a text",
      {
        inputs: { country: "Norway" },
        referenceOutputs: { capital: "Oslo" },
        config: { repetitions: 2, metadata: { kind: "text" } },
      },
      async ({ inputs, testMetadata }) => {
        const { capital } = await findCapital(inputs);
        await ls.wrapEvaluator(parts)({ outputs: { capital }, inputs });
        ls.logFeedback({ key: "tracked", score: testMetadata.testTrackingEnabled });
        return capital;
      },
    );

    ls.test.each([
      { inputs: { country: "Peru" }, referenceOutputs: { capital: "Lima" } },
      { inputs: { country: "Chile" }, referenceOutputs: { capital: "Santiago" } },
    ])("knows the south", async ({ inputs, referenceOutputs }) => {
      const outputs = await findCapital(inputs);
      ls.logFeedback({
        key: "accuracy",
        score: outputs.capital === referenceOutputs?.capital,
      });
      return outputs;
    });

    ls.test.skip("is skipped", { inputs: { country: "Spain" } }, () => {
      throw new Error("skipped tests do not run");
    });
  },
  {
    projectName: "atlas of capitals",
    metadata: { model: "atlas-1" },
    description: "Countries and their capitals",
  },
);

type Matcher = (expected: string, options?: object) => Promise<void>;
type TextMatchers = Record<
  "toBeRelativeCloseTo" | "toBeAbsoluteCloseTo" | "toBeSemanticCloseTo",
  Matcher
>;

/** The matchers that langsmith adds to those of vitest. */
const expectText = (text: string) =>
  expect(text) as unknown as TextMatchers & { readonly not: TextMatchers };

ls.describe(
  "texts",
  () => {
    ls.it.concurrent(
      "is nearly equal",
      { inputs: { text: "umbrella" }, referenceOutputs: { text: "umbrela" } },
      async ({ inputs, referenceOutputs }) => {
        const text = inputs["text"];
        await expectText(text).toBeRelativeCloseTo(String(referenceOutputs?.["text"]), {
          threshold: 0.2,
        });
        await expectText(text).toBeAbsoluteCloseTo("umbrellas", { threshold: 1 });
        await expectText(text).not.toBeAbsoluteCloseTo("parasol");
        await expectText(text).toBeSemanticCloseTo("other", {
          embeddings: { embedQuery: async (query: string) => [query.length, 1] },
          threshold: 0.2,
        });
        return { text: inputs["text"] };
      },
    );
  },
  { projectName: "nearly equal", testSuiteName: "texts of tests" },
);

ls.describe(
  "untracked",
  () => {
    ls.test("leaves nothing", { inputs: { a: 1 } }, ({ testMetadata }) => {
      expect(testMetadata.testTrackingEnabled).toBe(false);
    });
  },
  { enableTestTracking: false },
);
