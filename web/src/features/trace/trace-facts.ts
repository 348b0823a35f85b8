import { endOf, statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** A stretch of time within a run, microseconds. */
export interface Interval {
  readonly run: number;
  readonly from: number;
  readonly to: number;
}

/** The time that each run spent itself: its duration less what its children cover of it, by place. */
export function toSelfTimes(model: TraceModel, now: number): Float64Array {
  const { count, order, parents, starts } = model;
  const selfTimes = new Float64Array(count);
  /** By place: until when its children cover it. Children come by their starts. */
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

/** The places of the `limit` runs that spent the most time themselves, the slowest first. */
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

/** The places of the runs that failed, in the order of the tree. */
export const toErrors = ({ order, statuses }: TraceModel): readonly number[] =>
  [...order].filter((run) => statuses[run] === statusCodes.error);

/**
 * The critical path of a trace: the stretches of time that decided when it ended.
 *
 * Read backwards from the end of the first root. At any moment the path is in one run. Going back in
 * time within a run, it enters the child that ended last before that moment (a child that outlives its
 * parent counts as ending with it), follows that child back to its start, and goes on in the parent
 * from there; where no child is left, the run itself is on the path back to its own start. To make any
 * stretch shorter would have let the trace end earlier, all else being the same. Stretches do not
 * overlap and, where clocks agree, cover the root's time without a gap.
 */
export function toCriticalPath(model: TraceModel, now: number): readonly Interval[] {
  const root = model.order[0];
  if (root === undefined) {
    return [];
  }
  const childrenOf = childrenByEnd(model, now);
  const path: Interval[] = [];
  const rootEnd = endOf(model, root, now);
  const stack: Step[] = [
    { run: root, from: model.starts[root] ?? 0, until: rootEnd, at: rootEnd, next: 0 },
  ];
  for (let step = stack.at(-1); step !== undefined; step = stack.at(-1)) {
    const { run, from, until } = step;
    const child = childrenOf.get(run)?.[step.next];
    if (child === undefined || step.at <= from) {
      addInterval(path, { run, from, to: step.at });
      stack.pop();
      continue;
    }
    step.next += 1;
    const childStart = Math.max(from, model.starts[child] ?? 0);
    const childEnd = Math.min(endOf(model, child, now), until);
    if (childEnd <= step.at && childEnd > childStart) {
      addInterval(path, { run, from: childEnd, to: step.at });
      step.at = childStart;
      stack.push({ run: child, from: childStart, until: childEnd, at: childEnd, next: 0 });
    }
  }
  return path;
}

interface Step {
  readonly run: number;
  /** What of the run its parent's time covers: where the path leaves it, and where it came in. */
  readonly from: number;
  readonly until: number;
  /** Where it is; it goes back. */
  at: number;
  /** The next of the run's children, the last to end first. */
  next: number;
}

function addInterval(path: Interval[], stretch: Interval): void {
  if (stretch.to > stretch.from) {
    path.push(stretch);
  }
}

function childrenByEnd(model: TraceModel, now: number): ReadonlyMap<number, readonly number[]> {
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
