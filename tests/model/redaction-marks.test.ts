import { expect, test } from "vitest";
import { maskEverything, planRedaction } from "../../src/model/options/redaction.ts";

test("no rules have the mark of the plan that masks everything, so their records are masked again by it", () => {
  const marks = Array.from(
    { length: 5_000 },
    (_, index) => planRedaction([{ name: `rule-${index}`, pattern: /secret/ }], undefined)?.mark,
  );
  expect(new Set(marks).size).toBeGreaterThan(200);
  expect(marks).not.toContain(maskEverything.mark);
});
