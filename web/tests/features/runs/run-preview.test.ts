import { expect, test } from "vitest";
import { toPreviewText } from "../../../src/features/runs/run-preview.ts";

test.each([
  ['{"question":"How do I reset it?"}', "How do I reset it?"],
  ['{"order_id":"48213"}', "order_id: 48213"],
  ['{"city":"Oslo","days":3,"exact":true}', "city: Oslo · days: 3 · exact: true"],
  [
    '{"model":"gpt","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Where is\\n my order?"}]}',
    "Where is my order?",
  ],
  ['{"messages":[{"role":"user","content":"Where is my or', "Where is my or"],
  ['{"text":"ends with an escape \\', "ends with an escape"],
  ["just a text", "just a text"],
  ["[]", ""],
  ["{}", ""],
  [undefined, ""],
])("the preview of %s is %s", (json, text) => {
  expect(toPreviewText(json)).toBe(text);
});

test("the preview of a long value is short", () => {
  expect(toPreviewText(JSON.stringify({ text: "x".repeat(5_000) })).length).toBe(300);
});

test("the preview of a text in Markdown has no marks", () => {
  expect(
    toPreviewText(JSON.stringify({ text: "It arrives **tomorrow**, [see](https://a.test/)." })),
  ).toBe("It arrives tomorrow, see.");
});
