import { expect, test } from "vitest";
import { diffExamples } from "../../../../src/features/datasets/versions/diff-examples.ts";

const sides = { inputs: { q: "a", n: 1 }, outputs: { a: 1 }, metadata: {}, splits: ["base"] };

test("members that differ are listed with their change; equal ones are not", () => {
  const after = { ...sides, inputs: { n: 1, q: "b", m: [1] }, outputs: {} };
  expect(diffExamples(sides, after)).toEqual([
    { path: "inputs.q", kind: "modified", before: "a", after: "b" },
    { path: "inputs.m", kind: "added", before: undefined, after: [1] },
    { path: "outputs.a", kind: "removed", before: 1, after: undefined },
  ]);
});

test("the order of members is not a difference, but the order of items is", () => {
  expect(diffExamples(sides, { ...sides, inputs: { n: 1, q: "a" } })).toEqual([]);
  const [split] = diffExamples({ ...sides, splits: ["a", "b"] }, { ...sides, splits: ["b", "a"] });
  expect(split).toMatchObject({ path: "splits", kind: "modified" });
});

test("an added or removed example differs in all its parts", () => {
  expect(diffExamples(undefined, sides).map(({ path, kind }) => `${path} ${kind}`)).toEqual([
    "inputs added",
    "outputs added",
    "metadata added",
    "splits added",
  ]);
  expect(diffExamples(sides, { ...sides, outputs: undefined })).toEqual([
    { path: "outputs", kind: "removed", before: { a: 1 }, after: undefined },
  ]);
});

test("a member named __proto__ is treated like any other", () => {
  const odd = JSON.parse('{"__proto__":{"x":1}}') as unknown;
  expect(diffExamples(sides, { ...sides, inputs: odd })).toHaveLength(3);
});
