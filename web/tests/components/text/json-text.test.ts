import { expect, test } from "vitest";
import {
  formatCompactJson,
  formatJson,
  toJsonText,
} from "../../../src/components/text/json-text.ts";
import { toVisibleText } from "../../../src/components/text/visible-text.ts";

test("a character that reverses text is shown as an escape", () => {
  expect(toVisibleText("invoice\u202Efdp.exe\u0000\u{E0041}")).toBe(
    String.raw`invoice\u202efdp.exe\u0000\u{e0041}`,
  );
});

test("line ends, Arabic text and joined emoji are unchanged", () => {
  const text = "one\n\ttwo مرحبا 👩‍👩‍👧";
  expect(toVisibleText(text)).toBe(text);
});

test("a long value is truncated, and the omitted characters are counted", () => {
  const { text, omittedChars } = toJsonText("x".repeat(50), 10);
  expect({ length: text.length, omittedChars }).toEqual({ length: 10, omittedChars: 42 });
});

test("a value is formatted as indented JSON", () => {
  expect(toJsonText({ a: [1] })).toEqual({ text: '{\n  "a": [\n    1\n  ]\n}', omittedChars: 0 });
});

const deepJson = `${'{"a":[1,{},'.repeat(5_000)}null${"]}".repeat(5_000)}`;

test("a value of 10,000 levels is formatted as JSON, indented up to a limit", () => {
  const value: unknown = JSON.parse(deepJson);
  const text = formatJson(value);
  expect(text.length).toBeLessThan(20_000_000);
  expect(text.replaceAll(/\s+/g, "")).toBe(deepJson);
  expect(formatCompactJson(value)).toBe(deepJson);
});

test("a value of 300 levels is formatted like any other, except for its indentation", () => {
  const value: unknown = JSON.parse(`${"[".repeat(300)}"a b"${"]".repeat(300)}`);
  const withoutIndentation = (text: string) => text.replaceAll(/^ +/gm, "");
  expect(withoutIndentation(formatJson(value))).toBe(
    withoutIndentation(JSON.stringify(value, undefined, 2)),
  );
});
