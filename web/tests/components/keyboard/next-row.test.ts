import { expect, test } from "vitest";
import { findNextRow } from "../../../src/components/keyboard/next-row.ts";

test("keys move within the list and stop at its ends", () => {
  const at = (current: number) => ({ current, count: 20, pageSize: 10 });
  expect(findNextRow("ArrowDown", at(19))).toBe(19);
  expect(findNextRow("ArrowUp", at(0))).toBe(0);
  expect(findNextRow("PageDown", at(3))).toBe(13);
  expect(findNextRow("PageUp", at(3))).toBe(0);
  expect(findNextRow("End", at(3))).toBe(19);
  expect(findNextRow("Home", at(3))).toBe(0);
  expect(findNextRow("x", at(3))).toBeUndefined();
});
