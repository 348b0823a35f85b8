import { expect, test } from "vitest";
import { computeEditDistance } from "../../src/model/edit-distance.ts";
import { unknownKeysOf } from "../../src/model/unknown-keys.ts";

test.each([
  ["", "", 0],
  ["kitten", "sitting", 3],
  ["name", "", 4],
  ["nmae", "name", 2],
])("%j and %j differ by %d letters", (left, right, letters) => {
  expect(computeEditDistance(left, right)).toBe(letters);
  expect(computeEditDistance(right, left)).toBe(letters);
});

test.each([
  ["nmae", "name", 1],
  ["emtadata", "metadata", 1],
  ["abcdef", "badcfe", 3],
  ["ca", "abc", 3],
])("%j and %j differ by %d letters if two swapped ones count once", (left, right, letters) => {
  expect(computeEditDistance(left, right, { swapCost: 1 })).toBe(letters);
  expect(computeEditDistance(right, left, { swapCost: 1 })).toBe(letters);
});

test("a name with two swapped letters is taken for the known one", () => {
  expect(unknownKeysOf({ nmae: 1 }, ["id", "name", "tags"])).toMatchObject([
    { name: "nmae", nearest: "name" },
  ]);
});
