import type { Run } from "../model/run-answer.ts";

/** A run with the runs of its trace that lie below it, each in its parent's `childRuns`, in order of starting. */
export function nestRuns(run: Run, trace: readonly Run[]): Run {
  const children = new Map<string, Run[]>();
  const inOrder = trace.toSorted((left, right) =>
    (left.dottedOrder ?? "") < (right.dottedOrder ?? "") ? -1 : 1,
  );
  for (const one of inOrder) {
    const parent = one.parentRunId ?? "";
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  return nested(run, children);
}

/** Each parent is taken out as it is met: a damaged trace whose runs lie in a ring ends too. */
function nested(run: Run, children: Map<string, Run[]>): Run {
  const below = children.get(run.id) ?? [];
  children.delete(run.id);
  return { ...run, childRuns: below.map((child) => nested(child, children)) };
}
