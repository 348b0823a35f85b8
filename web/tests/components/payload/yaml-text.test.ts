import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { formatYaml } from "../../../src/components/payload/yaml-text.ts";

test("YAML of any JSON value reads back as the same value", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc
      .array(fc.constantFrom("a", " ", "\n", "#", ": ", "-", "\t", "yes"), { maxLength: 8 })
      .map((parts) => parts.join("")),
    fc.constantFrom(
      "yes",
      "null",
      "~",
      "1e3",
      "0x1F",
      "2026-01-01",
      "---",
      "a #b",
      "",
      "\u2028x\ny",
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(
        text.filter((key) => key !== "__proto__"),
        tie("value"),
        { maxKeys: 4 },
      ),
    ),
  }));
  fc.assert(
    fc.property(value, (recorded) => {
      expect(parse(formatYaml(recorded))).toEqual(recorded);
    }),
    { numRuns: 500 },
  );
});

test("a text of several lines is a block, so that a prompt can be read", () => {
  const prompt = "You help customers.\n\nRules:\n- be short\n";
  expect(formatYaml({ messages: [{ role: "system", content: prompt }], count: 1 })).toBe(
    [
      "messages:",
      "  - role: system",
      "    content: |",
      "      You help customers.",
      "",
      "      Rules:",
      "      - be short",
      "count: 1",
      "",
    ].join("\n"),
  );
});

test("a value that is nested 3,000 times is written without exhausting the stack", () => {
  let nested: unknown = 1;
  for (let depth = 0; depth < 3_000; depth += 1) {
    nested = [nested];
  }
  expect(formatYaml(nested)).toContain("[[[");
});
