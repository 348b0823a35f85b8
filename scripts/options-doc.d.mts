import type { OptionRow } from "../src/model/options/option-row.ts";

/** The text of docs/options.md. */
export function renderOptions(table: Readonly<Record<string, OptionRow>>): string;
