import { expect, test } from "vitest";
import {
  createDraft,
  listFaults,
  toLaunchBody,
} from "../../../src/features/experiments/launch/launch-draft.ts";
import { createJudgeDraft } from "../../../src/features/models/judge-draft.ts";
import type { LaunchDraft } from "../../../src/features/experiments/launch/launch-draft.ts";
import { parseLaunchSearch } from "../../../src/features/experiments/launch/launch-search.ts";
import { parseScorers, sumCosts } from "../../../src/features/experiments/launch/launch.ts";
import type { TargetEstimate } from "../../../src/features/experiments/launch/launch.ts";

const field = (name: string, title: string, kind: string, isRequired = false) => ({
  name,
  title,
  kind,
  isRequired,
  hint: "",
});
const key = field("key", "Feedback key", "text");
const expected = field("expected", "Expected value", "json");
const forms = parseScorers({
  scorers: [
    {
      scorer: "contains",
      title: "Contains",
      fields: [key, expected, field("ignoreCase", "Ignore case", "flag")],
    },
    { scorer: "exactMatch", title: "Exact match", fields: [key, expected] },
    {
      scorer: "matchesRegex",
      title: "Regular expression",
      fields: [field("pattern", "Pattern", "text", true)],
    },
    {
      scorer: "jsonEquality",
      title: "JSON equality",
      fields: [field("ignore", "Ignored paths", "list")],
    },
    {
      scorer: "numericCloseness",
      title: "Numeric closeness",
      fields: [field("tolerance", "Tolerance", "number")],
    },
  ],
});
const draft: LaunchDraft = {
  ...createDraft({ prompt: "qa" }, ["openai"]),
  models: [
    { endpoint: "openai", model: " gpt-5 ", temperature: "0.5", maxTokens: "100" },
    { endpoint: "local", model: "llama", temperature: "", maxTokens: "" },
  ],
};
const toBody = (changes: Partial<LaunchDraft>) =>
  toLaunchBody("d", { ...draft, ...changes }, forms);

test("each prompt is run with each model", () => {
  expect(
    toBody({ prompts: ["qa", "qa:3f2a"], mapping: { question: "inputs.q", city: "" } }),
  ).toEqual({
    targetCount: 4,
    body: {
      dataset_id: "d",
      repetitions: 1,
      concurrency: 4,
      mapping: { question: "inputs.q" },
      scorers: [],
      judges: [],
      targets: [
        {
          name: "qa · gpt-5 · 0.5",
          prompt: "qa",
          endpoint: "openai",
          model: "gpt-5",
          temperature: 0.5,
          max_tokens: 100,
        },
        { name: "qa · llama", prompt: "qa", endpoint: "local", model: "llama" },
        {
          name: "qa:3f2a · gpt-5 · 0.5",
          prompt: "qa:3f2a",
          endpoint: "openai",
          model: "gpt-5",
          temperature: 0.5,
          max_tokens: 100,
        },
        { name: "qa:3f2a · llama", prompt: "qa:3f2a", endpoint: "local", model: "llama" },
      ],
    },
  });
});

test("options of scorers have the types of their fields, and empty ones are left out", () => {
  const scorers = [
    { scorer: "contains", options: { ignoreCase: "true", expected: '["a","b"]', key: " " } },
    { scorer: "exactMatch", options: { expected: "Bonn" } },
    { scorer: "numericCloseness", options: { tolerance: "0.5" } },
    { scorer: "jsonEquality", options: { ignore: "a, b.c ," } },
  ];
  expect(toBody({ scorers })).toMatchObject({
    body: {
      scorers: [
        { scorer: "contains", options: { ignoreCase: true, expected: ["a", "b"] } },
        { scorer: "exactMatch", options: { expected: "Bonn" } },
        { scorer: "numericCloseness", options: { tolerance: 0.5 } },
        { scorer: "jsonEquality", options: { ignore: ["a", "b.c"] } },
      ],
    },
  });
});

const judge = { ...createJudgeDraft("openai"), model: "gpt-5" };

test.each<readonly [Partial<LaunchDraft>, string]>([
  [{ prompts: [] }, "Choose a prompt."],
  [{ models: [{ ...judge, model: " " }] }, "Enter the name of the model."],
  [{ models: [{ ...judge, temperature: "hot" }] }, "Temperature must be a number from 0 to 100."],
  [{ models: [{ ...judge, maxTokens: "0.5" }] }, "Max tokens must be a whole number above 0."],
  [{ scorers: [{ scorer: "matchesRegex", options: {} }] }, "Regular expression: enter pattern."],
  [
    { scorers: [{ scorer: "numericCloseness", options: { tolerance: "-1" } }] },
    "Numeric closeness: Tolerance must be a number of at least 0.",
  ],
  [{ judges: [{ ...judge, key: "" }] }, "Enter the feedback key of the judge."],
  [
    { judges: [{ ...judge, form: "categories", categories: "good" }] },
    "Enter at least two categories for the judge, separated by commas.",
  ],
  [
    { prompts: Array.from({ length: 11 }, (_, index) => `p${index}`) },
    "22 experiments are too many. Choose at most 20 combinations of a prompt and a model.",
  ],
])("%o can't start, and the page says why", (changes, fault) => {
  const result = toBody(changes);
  expect("faults" in result && listFaults(result.faults)).toEqual([fault]);
});

test("each fault belongs to its field", () => {
  const scorers = [
    { scorer: "exactMatch", options: {} },
    { scorer: "matchesRegex", options: {} },
  ];
  const models = [judge, { ...judge, model: "", temperature: "hot" }];
  expect(toBody({ scorers, models, judges: [{ ...judge, template: " " }] })).toEqual({
    faults: {
      models: [
        {},
        {
          model: "Enter the name of the model.",
          temperature: "Temperature must be a number from 0 to 100.",
        },
      ],
      scorers: [{}, { pattern: "Regular expression: enter pattern." }],
      judges: [{ template: "Enter the prompt of the judge." }],
    },
  });
});

test("a judge has the form of its result", () => {
  const judges = [
    judge,
    { ...judge, key: "tone", form: "categories" as const, categories: "warm, cold, warm" },
  ];
  expect(toBody({ judges })).toMatchObject({
    body: {
      judges: [
        { key: "quality", form: { kind: "score" }, endpoint: "openai", model: "gpt-5" },
        { key: "tone", form: { kind: "categories", categories: ["warm", "cold"] } },
      ],
    },
  });
});

test("the cost is unknown if that of one experiment is", () => {
  const known = { cost: { low: 1, high: 2 } } as TargetEstimate;
  expect(sumCosts([known, known])).toEqual({ low: 2, high: 4 });
  expect(sumCosts([known, { cost: "no price" } as TargetEstimate])).toBeUndefined();
});

test("a split and a version are part of the request only if they are chosen", () => {
  const bodyOf = (changes: Partial<LaunchDraft>) => {
    const result = toBody(changes);
    return "body" in result ? result.body : {};
  };
  expect(bodyOf({})).not.toHaveProperty("splits");
  expect(bodyOf({})).not.toHaveProperty("as_of");
  expect(bodyOf({ split: "hard", version: " v1 " })).toMatchObject({
    splits: ["hard"],
    as_of: "v1",
  });
  expect(createDraft({ split: "hard", asOf: "v1" }, ["openai"])).toMatchObject({
    prompts: [],
    split: "hard",
    version: "v1",
    models: [{ endpoint: "openai", model: "" }],
  });
});

test("an experiment is named after its prompt with a short commit, and its model", () => {
  const hash = "bff172f3".repeat(8);
  expect(toLaunchBody("d", { ...draft, prompts: [`qa:${hash}`] }, forms)).toMatchObject({
    body: {
      targets: [
        { name: "qa:bff172f3 · gpt-5 · 0.5", prompt: `qa:${hash}` },
        { name: "qa:bff172f3 · llama", prompt: `qa:${hash}` },
      ],
    },
  });
});

test("the models of the URL are chosen; an endpoint that the server does not have is replaced", () => {
  const models = [
    { endpoint: "local", model: "llama" },
    { endpoint: "gone", model: "gpt-5" },
  ];
  expect(createDraft({ models }, ["openai", "local"]).models).toMatchObject([
    { endpoint: "local", model: "llama", temperature: "" },
    { endpoint: "openai", model: "gpt-5", temperature: "" },
  ]);
  const parsed = parseLaunchSearch({ models: [{ model: "a" }, { endpoint: "x" }, 7, null] });
  expect(parsed.models).toEqual([{ endpoint: "", model: "a" }]);
  expect(parseLaunchSearch({ models: "a" }).models).toBeUndefined();
  const many = Array.from({ length: 30 }, (_, index) => ({ endpoint: "e", model: `m${index}` }));
  expect(parseLaunchSearch({ models: many }).models).toHaveLength(10);
});
