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

test.each([
  ["It arrives **tomorrow before noon**.", "It arrives tomorrow before noon."],
  ["Open *Orders* and choose ***Return***", "Open Orders and choose Return"],
  ["Run `npm test` first", "Run npm test first"],
  ["See [the guide](https://example.com/guide) or ![a map](map.png)", "See the guide or a map"],
  ["# Result\n\nAll is well", "Result All is well"],
  // What only looks like a mark stays.
  ["2*3*4 is 24, a * b * c too", "2*3*4 is 24, a * b * c too"],
  ["__init__ and snake_case_name", "__init__ and snake_case_name"],
  ["#1 of 3, and an [index](", "#1 of 3, and an [index]("],
])("the preview of the Markdown %j is %j", (text, preview) => {
  expect(toPreviewText(JSON.stringify({ text }))).toBe(preview);
});
