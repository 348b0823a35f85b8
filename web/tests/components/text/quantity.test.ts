import { expect, test } from "vitest";
import { formatBytes } from "../../../src/components/text/quantity.ts";

test.each([
  [0, "0 bytes"],
  [999, "999 bytes"],
  [1_500, "1.5 kB"],
  [999_600, "1.0 MB"],
  [23_400_000, "23 MB"],
])("%d bytes are shown as %s", (size, text) => {
  expect(formatBytes(size)).toBe(text);
});
