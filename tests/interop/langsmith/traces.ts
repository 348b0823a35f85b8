import { expect } from "vitest";
import type { WireRun } from "../../../src/main/index.ts";

/** Characters that must be preserved: astral ones, markup, NUL, a lone surrogate, quotes. */
export const unusualText = "\u{1F600} <b>\u0000 \ud800 \"'; DROP TABLE runs; --";

/** The run with this name. */
export function named(runs: readonly WireRun[], name: string): WireRun {
  const found = runs.find((run) => run.name === name);
  expect(found).toBeDefined();
  return found!;
}

/** Name, parent's name and type of each run, in the order of the trace. */
export function treeOf(runs: readonly WireRun[]) {
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  return runs
    .toSorted((a, b) => ((a.dotted_order ?? "") < (b.dotted_order ?? "") ? -1 : 1))
    .map((run) => [run.name, names.get(run.parent_run_id ?? "") ?? null, run.run_type]);
}
