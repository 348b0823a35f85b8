import { expect, test } from "vitest";
import { isDiffable } from "../../../src/components/code/text-diff.tsx";

test("texts are compared if both together are within the character limit", () => {
  const limits = { characters: 10, lines: 100 };
  expect(isDiffable("12345", "12345", limits)).toBe(true);
  expect(isDiffable("12345", "123456", limits)).toBe(false);
});

test("texts with too many lines are not compared", () => {
  const limits = { characters: 1_000, lines: 5 };
  expect(isDiffable("a\nb", "a\nb\nc", limits)).toBe(true);
  expect(isDiffable("a\nb\nc", "a\nb\nc", limits)).toBe(false);
});
