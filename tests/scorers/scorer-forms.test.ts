import { expect, test } from "vitest";
import { createConfiguredScorer, scorerForms } from "../../src/scorers/index.ts";
import type { ScorerField } from "../../src/scorers/index.ts";

const reference = { answer: "Berlin 42" };

const score = (scorer: string, options: Readonly<Record<string, unknown>>, answer: unknown) =>
  createConfiguredScorer({ scorer, options }).evaluate({
    outputs: { answer },
    referenceOutputs: reference,
  });

test.each([
  ["exactMatch", {}, "Berlin 42", true],
  ["exactMatch", { expected: "Bonn" }, "Bonn", true],
  ["contains", { ignoreCase: true, expected: ["berlin", "42"] }, "In Berlin, 42", { score: true }],
  ["matchesRegex", { pattern: "^berlin", flags: "i" }, "Berlin", true],
  ["validJson", {}, '{"a":1}', true],
  ["jsonEquality", { ignore: ["answer"] }, "Bonn", { score: 1 }],
  ["numericCloseness", { expected: 100, relativeTolerance: 0.1 }, 95, 1],
  ["editSimilarity", { expected: "Bonn" }, "Bann", 0.75],
] as const)("%s with %o scores %j as %j", (scorer, options, answer, expected) => {
  expect(score(scorer, options, answer)).toEqual(expected);
});

test("a text that is not JSON is false, with the reason", () => {
  expect(score("validJson", {}, "{")).toMatchObject({ score: false, comment: /./ });
});

const sampleOf = ({ name, kind }: ScorerField): unknown =>
  ({ text: name === "flags" ? "i" : "answer", flag: true, number: 1, list: ["a"], json: "1" })[
    kind
  ];

test("each form has exactly the options that its scorer accepts", () => {
  for (const { scorer, fields } of scorerForms) {
    const options = Object.fromEntries(fields.map((field) => [field.name, sampleOf(field)]));
    expect(createConfiguredScorer({ scorer, options }).name).toBe("answer");
  }
});

test.each([
  ["levenshtein", {}, /no scorer "levenshtein".*exactMatch, contains/],
  ["exactMatch", { tolerance: 1 }, /exactMatch: .*tolerance/],
  ["numericCloseness", { tolerance: "1" }, /tolerance must be a number of at least 0/],
  ["matchesRegex", {}, /pattern is missing/],
  ["matchesRegex", { pattern: "(" }, /pattern is invalid/],
  ["jsonEquality", { ignore: [1] }, /ignore must be a list of texts/],
])("%s with %o is rejected with the reason", (scorer, options, reason) => {
  expect(() => createConfiguredScorer({ scorer, options })).toThrow(reason);
});
