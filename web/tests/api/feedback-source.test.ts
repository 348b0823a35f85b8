import { expect, test } from "vitest";
import { describeSource } from "../../src/api/feedback-source.ts";

test.each([
  [{ type: "app", metadata: { reviewer: "Ada" } }, "Ada"],
  [{ type: "app", user_name: "Grace", metadata: {} }, "Grace"],
  [{ type: "api", metadata: { user_id: "u-7" } }, "u-7"],
  [{ type: "app", metadata: { reviewer: " " } }, "app"],
  [{ type: "api", metadata: null }, "api"],
  [null, ""],
])("the source %j is shown as %s", (source, text) => {
  expect(describeSource(source)).toBe(text);
});
