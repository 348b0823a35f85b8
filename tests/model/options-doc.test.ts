import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderOptions } from "../../scripts/options-doc.mjs";
import { optionTable } from "../../src/model/options/option-table.ts";
import { otlpMembers } from "../../src/model/options/otlp-options.ts";

test("docs/options.md matches the table of options", () => {
  const page = readFileSync(new URL("../../docs/options.md", import.meta.url), "utf8");
  expect(page).toBe(renderOptions(optionTable, otlpMembers));
});
