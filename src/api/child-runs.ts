import type { WireRun } from "../model/run.ts";

/** A run with the runs of its trace that lie below it, each in its parent's `child_runs`, in order of starting. */
export function nestRuns(run: WireRun, trace: readonly WireRun[]): WireRun {
  const children = new Map<string, WireRun[]>();
  const inOrder = trace.toSorted((left, right) =>
    (left.dotted_order ?? "") < (right.dotted_order ?? "") ? -1 : 1,
  );
  for (const one of inOrder) {
    const parent = one.parent_run_id ?? "";
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  return nested(run, children);
}

/** Each parent is taken out as it is met: a damaged trace whose runs lie in a ring ends too. */
function nested(run: WireRun, children: Map<string, WireRun[]>): WireRun {
  const below = children.get(run.id) ?? [];
  children.delete(run.id);
  return { ...run, child_runs: below.map((child) => nested(child, children)) };
}
