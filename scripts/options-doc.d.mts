import type { OptionRow } from "../src/model/options/option-row.ts";
import type { otlpMembers } from "../src/model/options/otlp-options.ts";

/** Generates the text of docs/options.md. */
export function renderOptions(
  table: Readonly<Record<string, OptionRow>>,
  members: typeof otlpMembers,
): string;
