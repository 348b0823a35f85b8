import type { TimeWindow } from "./time-scale.ts";
import { computeEnd, statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** A bar of the minimap. `x` and `width` are pixels. */
export interface MinimapBar {
  readonly x: number;
  readonly width: number;
  readonly lane: number;
  /** The index of the run. */
  readonly run: number;
  readonly isError: boolean;
}

/** The number of lanes in the minimap: the depth of the trace, but at least 4 and at most 11. */
export function countLanes({ depths }: TraceModel): number {
  const maxDepth = depths.reduce((most, depth) => Math.max(most, depth), 0);
  return Math.min(11, Math.max(4, maxDepth + 1));
}

/**
 * Returns the bars of a minimap of the given width, with one lane for each depth. The deepest runs share the last lane.
 * If several runs would cover the same pixels, only one of them is drawn, so that the number of bars depends on the
 * pixels, not on the number of runs. The bars of failed runs come last, so that they are drawn over the others.
 */
export function toMinimapBars(
  model: TraceModel,
  {
    fullRange,
    width,
    laneCount,
    now,
  }: {
    readonly fullRange: TimeWindow;
    readonly width: number;
    readonly laneCount: number;
    /** The time at which the bars of runs that have not ended stop, in microseconds since the model's `baseMicros`. */
    readonly now: number;
  },
): readonly MinimapBar[] {
  const { order, depths, starts, statuses } = model;
  const pixelsPerMicrosecond = width / (fullRange.to - fullRange.from);
  const drawnUntilX = new Float64Array(laneCount).fill(-1);
  const bars: MinimapBar[] = [];
  const errorBars = new Map<number, MinimapBar>();
  for (const run of order) {
    const lane = Math.min(depths[run] ?? 0, laneCount - 1);
    const start = starts[run] ?? 0;
    const x = (start - fullRange.from) * pixelsPerMicrosecond;
    const barWidth = Math.max(1, (computeEnd(model, run, now) - start) * pixelsPerMicrosecond);
    if (statuses[run] === statusCodes.error) {
      errorBars.set(lane * width + Math.floor(x), { x, width: barWidth, lane, run, isError: true });
    }
    if (x + barWidth > (drawnUntilX[lane] ?? 0) + 0.5) {
      bars.push({ x, width: barWidth, lane, run, isError: false });
      drawnUntilX[lane] = x + barWidth;
    }
  }
  return [...bars, ...errorBars.values()];
}
