import { expect, test } from "vitest";
import { toNextRow } from "../../../src/components/keyboard/next-row.ts";

test("keys move within the list and stop at its ends", () => {
  const at = (current: number) => ({ current, count: 20, page: 10 });
  expect(toNextRow("ArrowDown", at(19))).toBe(19);
  expect(toNextRow("ArrowUp", at(0))).toBe(0);
  expect(toNextRow("PageDown", at(3))).toBe(13);
  expect(toNextRow("PageUp", at(3))).toBe(0);
  expect(toNextRow("End", at(3))).toBe(19);
  expect(toNextRow("Home", at(3))).toBe(0);
  expect(toNextRow("x", at(3))).toBeUndefined();
});
