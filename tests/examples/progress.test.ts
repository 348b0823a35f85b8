import { expect, test } from "vitest";
import { barWidth } from "../../examples/ask-the-docs/progress.ts";

test.each([
  [80, 20],
  [undefined, 20],
  [200, 30],
  [40, 5],
])("with %s columns a bar has %i characters", (columns, width) => {
  expect(barWidth("With recording   ", "requests", columns)).toBe(width);
});

test("a whole line of a large run fits into 80 columns", () => {
  const [title, unit] = ["With recording   ", "requests"];
  const bar = "=".repeat(barWidth(title, unit, 80));
  expect(`${title} [${bar}] 100%  999999/999999 ${unit}  00h59m`.length).toBeLessThan(80);
});
