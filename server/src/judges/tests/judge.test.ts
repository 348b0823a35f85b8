import { expect, test } from "vitest";
import { createJudgeRequest, parseJudgement } from "../judge.ts";
import type { Judge } from "../judge-schema.ts";

const judge: Judge = {
  key: "helpful",
  template: "Is {{output}} helpful?",
  form: { kind: "score" },
  endpoint: "local",
  model: "m-1",
  max_tokens: 200,
};
const categories: Judge["form"] = { kind: "categories", categories: ["good", "bad"] };

test("a judge is asked for reasoning and the form of its result, as a schema and in words", () => {
  const { messages, outputSchema, settings, model } = createJudgeRequest(judge, "Is 42 helpful?");
  expect(model).toBe("m-1");
  expect(settings).toEqual({ maxTokens: 200 });
  expect(messages[0]?.content).toContain('"score": from 0 to 1');
  expect(messages[1]).toEqual({ role: "user", content: "Is 42 helpful?" });
  expect(outputSchema?.schema).toMatchObject({
    required: ["reasoning", "score"],
    properties: { score: { minimum: 0, maximum: 1 } },
    additionalProperties: false,
  });
  const chosen = createJudgeRequest({ ...judge, form: categories }, "?");
  expect(chosen.messages[0]?.content).toContain('"category": one of "good", "bad"');
  expect(chosen.outputSchema?.schema).toMatchObject({
    properties: { category: { enum: ["good", "bad"] } },
  });
});

test.each([
  ['{"reasoning":"fine","score":0.25}', { kind: "score" }, { score: 0.25, comment: "fine" }],
  ['{"score":1}', { kind: "score" }, { score: 1, comment: "" }],
  [
    '```json\n{"reasoning":"no","verdict":false}\n```',
    { kind: "verdict" },
    { score: false, comment: "no" },
  ],
  ['{"reasoning":"r","category":"bad"}', categories, { value: "bad", comment: "r" }],
] as const)("%s is read as a judgement", (text, form, expected) => {
  expect(parseJudgement(text, form)).toEqual(expected);
});

test.each([
  ["I think it is good: 1", { kind: "score" }, /not a JSON object: "I think/],
  ["[1]", { kind: "score" }, /not a JSON object/],
  ['{"score":"1"}', { kind: "score" }, /not a number from 0 to 1/],
  ['{"score":1.01}', { kind: "score" }, /not a number from 0 to 1/],
  ['{"score":null}', { kind: "score" }, /not a number from 0 to 1/],
  ['{"verdict":"yes"}', { kind: "verdict" }, /not true or false/],
  ['{"category":"Good"}', categories, /not one of good, bad/],
  ["", { kind: "verdict" }, /not a JSON object/],
] as const)("%s is no judgement, and never a score", (text, form, reason) => {
  expect(() => parseJudgement(text, form)).toThrow(reason);
});

test("an error repeats only the beginning of a long answer", () => {
  expect(() => parseJudgement("x".repeat(100_000), { kind: "score" })).toThrow(/^.{1,300}$/);
});
