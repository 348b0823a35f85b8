import { computeEnd, statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** A time interval within one run, in microseconds since the model's `baseMicros`. */
export interface Interval {
  /** The index of the run. */
  readonly run: number;
  readonly from: number;
  readonly to: number;
}

/** Returns the self time of each run, by run index: its duration minus the time during which its children ran. */
export function computeSelfTimes(model: TraceModel, now: number): Float64Array {
  const { count, order, parents, starts } = model;
  const selfTimes = new Float64Array(count);
  /**
   * By run index, the time up to which the children of the run have been subtracted. Children are visited in order of
   * their start.
   */
  const coveredTo = new Float64Array(count);
  for (let rank = 0; rank < count; rank += 1) {
    const run = order[rank] ?? 0;
    const start = starts[run] ?? 0;
    const end = computeEnd(model, run, now);
    selfTimes[run] = end - start;
    coveredTo[run] = start;
    const parent = parents[run] ?? -1;
    if (parent >= 0) {
      const from = Math.max(start, coveredTo[parent] ?? 0);
      const to = Math.min(end, computeEnd(model, parent, now));
      if (to > from) {
        selfTimes[parent] = (selfTimes[parent] ?? 0) - (to - from);
        coveredTo[parent] = to;
      }
    }
  }
  return selfTimes;
}

/** Returns the indexes of the `limit` runs with the longest self times, the slowest first. */
export function findSlowest(selfTimes: Float64Array, limit: number): readonly number[] {
  const slowest: number[] = [];
  for (let run = 0; run < selfTimes.length; run += 1) {
    const selfTime = selfTimes[run] ?? 0;
    const fastestListed = slowest.at(-1);
    if (
      selfTime > 0 &&
      (slowest.length < limit || selfTime > (selfTimes[fastestListed ?? 0] ?? 0))
    ) {
      const insertIndex = slowest.findIndex((other) => (selfTimes[other] ?? 0) < selfTime);
      slowest.splice(insertIndex < 0 ? slowest.length : insertIndex, 0, run);
      slowest.length = Math.min(slowest.length, limit);
    }
  }
  return slowest;
}

/** Returns the indexes of the failed runs, in tree order. */
export const findFailedRuns = ({ order, statuses }: TraceModel): readonly number[] =>
  Array.from(order.filter((run) => statuses[run] === statusCodes.error));

/**
 * Finds the critical path of a trace: the segments of time that determined when the trace ended.
 *
 * The path is followed backwards in time from the end of the first root. At each moment, it is in one run. From a run,
 * the path enters the child that ended last before the current moment, follows that child back to its start, and
 * continues in the parent from there. A child that outlives its parent counts as ending with the parent. When no child
 * remains, the path follows the run itself back to its start. Shortening any segment would shorten the trace, if
 * nothing else changed. Segments do not overlap and, without clock skew, cover the root's time without a gap.
 */
export function findCriticalPath(model: TraceModel, now: number): readonly Interval[] {
  const root = model.order[0];
  if (root === undefined) {
    return [];
  }
  const childrenByRun = groupChildrenByEnd(model, now);
  const path: Interval[] = [];
  const rootEnd = computeEnd(model, root, now);
  const stack: PathStep[] = [
    { run: root, from: model.starts[root] ?? 0, until: rootEnd, moment: rootEnd, nextChild: 0 },
  ];
  for (let step = stack.at(-1); step !== undefined; step = stack.at(-1)) {
    const { run, from, until } = step;
    const child = childrenByRun.get(run)?.[step.nextChild];
    if (child === undefined || step.moment <= from) {
      addInterval(path, { run, from, to: step.moment });
      stack.pop();
      continue;
    }
    step.nextChild += 1;
    const childStart = Math.max(from, model.starts[child] ?? 0);
    const childEnd = Math.min(computeEnd(model, child, now), until);
    if (childEnd <= step.moment && childEnd > childStart) {
      addInterval(path, { run, from: childEnd, to: step.moment });
      step.moment = childStart;
      stack.push({ run: child, from: childStart, until: childEnd, moment: childEnd, nextChild: 0 });
    }
  }
  return path;
}

/** One run on the stack of {@link findCriticalPath}, which follows the path backwards in time. */
interface PathStep {
  readonly run: number;
  /** The time range of the run, clipped to that of its parent. The path enters at `until` and leaves at `from`. */
  readonly from: number;
  readonly until: number;
  /** The time back to which the path through this run has been followed. It only decreases. */
  moment: number;
  /** Index of the child to check next, among the run's children in order of their end, the latest first. */
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
    siblings.sort((a, b) => computeEnd(model, b, now) - computeEnd(model, a, now));
  }
  return children;
}
