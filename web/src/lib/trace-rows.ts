import type { RunSummary } from "./run.ts";

/** A line of the tree: a run, where it stands, and its share of the trace's time. */
export interface TraceRow {
  readonly run: RunSummary;
  /** 0 for a root. */
  readonly depth: number;
  /** Where its bar begins, 0 to 1 of the trace's time. */
  readonly offset: number;
  /** How long its bar is, 0 to 1. */
  readonly share: number;
  readonly durationMs: number;
}

/** The lines of a tree, parents before children, and the time that they span. */
export interface TraceRows {
  readonly rows: readonly TraceRow[];
  readonly startMs: number;
  readonly spanMs: number;
}

/**
 * Lays out the runs of one trace in O(n). Siblings keep the order in which they are given; a run whose
 * parent is missing stands at the top, and none is left out, whatever the parents say.
 *
 * @param nowMs - where the bars of open runs end
 */
export function toTraceRows(runs: readonly RunSummary[], nowMs: number): TraceRows {
  const endOf = ({ startMs, endMs }: RunSummary): number => Math.max(startMs, endMs ?? nowMs);
  let first = Infinity;
  let last = -Infinity;
  for (const run of runs) {
    first = Math.min(first, run.startMs);
    last = Math.max(last, endOf(run));
  }
  const spanMs = runs.length === 0 ? 0 : last - first;
  const shareOf = (partMs: number): number => (spanMs > 0 ? partMs / spanMs : 0);
  const rows = inTreeOrder(runs).map(({ run, depth }): TraceRow => {
    const durationMs = endOf(run) - run.startMs;
    const offset = shareOf(run.startMs - first);
    return { run, depth, durationMs, offset, share: spanMs > 0 ? shareOf(durationMs) : 1 };
  });
  return { rows, startMs: runs.length === 0 ? 0 : first, spanMs };
}

interface Place {
  readonly run: RunSummary;
  readonly depth: number;
}

function inTreeOrder(runs: readonly RunSummary[]): readonly Place[] {
  const ids = new Set(runs.map(({ id }) => id));
  const childrenOf = new Map<string, RunSummary[]>();
  const tops: RunSummary[] = [];
  for (const run of runs) {
    const { parentRunId } = run;
    if (parentRunId === undefined || !ids.has(parentRunId)) {
      tops.push(run);
      continue;
    }
    const siblings = childrenOf.get(parentRunId);
    if (siblings === undefined) {
      childrenOf.set(parentRunId, [run]);
    } else {
      siblings.push(run);
    }
  }
  const places: Place[] = [];
  const seen = new Set<string>();
  // A stack of its own: a chain of runs may be deeper than the call stack.
  const visit = (top: RunSummary): void => {
    const stack: Place[] = [{ run: top, depth: 0 }];
    for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
      if (seen.has(place.run.id)) {
        continue;
      }
      seen.add(place.run.id);
      places.push(place);
      const children = childrenOf.get(place.run.id) ?? [];
      for (let index = children.length - 1; index >= 0; index -= 1) {
        stack.push({ run: children[index] as RunSummary, depth: place.depth + 1 });
      }
    }
  };
  tops.forEach(visit);
  // Runs that are one another's parents are below no top.
  runs.forEach((run) => (seen.has(run.id) ? undefined : visit(run)));
  return places;
}
