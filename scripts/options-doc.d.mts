import type { OptionRow } from "../src/model/options/option-row.ts";

/** Generates the text of docs/options.md. */
export function renderOptions(table: Readonly<Record<string, OptionRow>>): string;
