import { endOf, statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** A time interval within one run, in microseconds since the trace's base. */
export interface Interval {
  /** The index of the run. */
  readonly run: number;
  readonly from: number;
  readonly to: number;
}

/** The self time of each run, by run index: its duration minus the part that its children cover. */
export function toSelfTimes(model: TraceModel, now: number): Float64Array {
  const { count, order, parents, starts } = model;
  const selfTimes = new Float64Array(count);
  /** By run index: the time up to which its children were subtracted. Children are visited by start. */
  const covered = new Float64Array(count);
  for (let rank = 0; rank < count; rank += 1) {
    const run = order[rank] ?? 0;
    const start = starts[run] ?? 0;
    const end = endOf(model, run, now);
    selfTimes[run] = end - start;
    covered[run] = start;
    const parent = parents[run] ?? -1;
    if (parent >= 0) {
      const from = Math.max(start, covered[parent] ?? 0);
      const to = Math.min(end, endOf(model, parent, now));
      if (to > from) {
        selfTimes[parent] = (selfTimes[parent] ?? 0) - (to - from);
        covered[parent] = to;
      }
    }
  }
  return selfTimes;
}

/** The indexes of the `limit` runs with the longest self times, the slowest first. */
export function toSlowest(selfTimes: Float64Array, limit: number): readonly number[] {
  const slowest: number[] = [];
  for (let run = 0; run < selfTimes.length; run += 1) {
    const time = selfTimes[run] ?? 0;
    const last = slowest.at(-1);
    if (time > 0 && (slowest.length < limit || time > (selfTimes[last ?? 0] ?? 0))) {
      const at = slowest.findIndex((other) => (selfTimes[other] ?? 0) < time);
      slowest.splice(at < 0 ? slowest.length : at, 0, run);
      slowest.length = Math.min(slowest.length, limit);
    }
  }
  return slowest;
}

/** The indexes of the failed runs, in tree order. */
export const toErrors = ({ order, statuses }: TraceModel): readonly number[] =>
  [...order].filter((run) => statuses[run] === statusCodes.error);

/**
 * The critical path of a trace: the segments of time that decided when it ended.
 *
 * The path is followed backwards in time from the end of the first root; at any moment it is in one run.
 * Within a run, it enters the child that ended last before the current moment (a child that outlives its
 * parent counts as ending with it), follows that child back to its start, and continues in the parent
 * from there. When no child remains, the run itself is on the path back to its start. Shortening any
 * segment would have let the trace end earlier, all else being equal. Segments do not overlap and,
 * without clock skew, cover the root's time without a gap.
 */
export function toCriticalPath(model: TraceModel, now: number): readonly Interval[] {
  const root = model.order[0];
  if (root === undefined) {
    return [];
  }
  const childrenOf = groupChildrenByEnd(model, now);
  const path: Interval[] = [];
  const rootEnd = endOf(model, root, now);
  const stack: Step[] = [
    { run: root, from: model.starts[root] ?? 0, until: rootEnd, at: rootEnd, nextChild: 0 },
  ];
  for (let step = stack.at(-1); step !== undefined; step = stack.at(-1)) {
    const { run, from, until } = step;
    const child = childrenOf.get(run)?.[step.nextChild];
    if (child === undefined || step.at <= from) {
      addInterval(path, { run, from, to: step.at });
      stack.pop();
      continue;
    }
    step.nextChild += 1;
    const childStart = Math.max(from, model.starts[child] ?? 0);
    const childEnd = Math.min(endOf(model, child, now), until);
    if (childEnd <= step.at && childEnd > childStart) {
      addInterval(path, { run, from: childEnd, to: step.at });
      step.at = childStart;
      stack.push({ run: child, from: childStart, until: childEnd, at: childEnd, nextChild: 0 });
    }
  }
  return path;
}

/** One run on the stack of the walk along the critical path. */
interface Step {
  readonly run: number;
  /** The part of the run within its parent's time. The path enters at `until` and leaves at `from`. */
  readonly from: number;
  readonly until: number;
  /** The current moment; it only decreases. */
  at: number;
  /** The index, among the run's children sorted from the last end to the first, of the next child to try. */
  nextChild: number;
}

function addInterval(path: Interval[], segment: Interval): void {
  if (segment.to > segment.from) {
    path.push(segment);
  }
}

function groupChildrenByEnd(
  model: TraceModel,
  now: number,
): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const run of model.order) {
    const parent = model.parents[run] ?? -1;
    if (parent >= 0) {
      const siblings = children.get(parent);
      if (siblings === undefined) {
        children.set(parent, [run]);
      } else {
        siblings.push(run);
      }
    }
  }
  for (const siblings of children.values()) {
    siblings.sort((a, b) => endOf(model, b, now) - endOf(model, a, now));
  }
  return children;
}
