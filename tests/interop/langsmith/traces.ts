import { expect } from "vitest";
import type { WireRun } from "../../../src/main/index.ts";

/** What text must survive: astral, markup, NUL, a lone surrogate, quotes. */
export const nasty = "\u{1F600} <b>\u0000 \ud800 \"'; DROP TABLE runs; --";

/** The run of that name. */
export function named(runs: readonly WireRun[], name: string): WireRun {
  const found = runs.find((run) => run.name === name);
  expect(found).toBeDefined();
  return found!;
}

/** The name of each run, its parent's and its type, in the order of the trace. */
export function treeOf(runs: readonly WireRun[]) {
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  return runs
    .toSorted((a, b) => ((a.dotted_order ?? "") < (b.dotted_order ?? "") ? -1 : 1))
    .map((run) => [run.name, names.get(run.parent_run_id ?? "") ?? null, run.run_type]);
}
