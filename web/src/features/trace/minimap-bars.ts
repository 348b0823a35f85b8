import type { TimeWindow } from "./time-scale.ts";
import { endOf, statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** A bar of the small picture of a trace; pixels. */
export interface MinimapBar {
  readonly x: number;
  readonly width: number;
  readonly lane: number;
  readonly run: number;
  readonly isError: boolean;
}

/** Lanes of the picture: as many as the trace is deep, within reason. */
export function countLanes({ depths }: TraceModel): number {
  const deepest = depths.reduce((most, depth) => Math.max(most, depth), 0);
  return Math.min(11, Math.max(4, deepest + 1));
}

/**
 * What is drawn of a trace in a picture so wide, with a lane for each depth. Of runs that would cover
 * the same pixels one is drawn, so that 50,000 take no longer than the pixels there are; errors last.
 */
export function toMinimapBars(
  model: TraceModel,
  {
    whole,
    width,
    lanes,
    now,
  }: {
    readonly whole: TimeWindow;
    readonly width: number;
    readonly lanes: number;
    readonly now: number;
  },
): readonly MinimapBar[] {
  const { order, depths, starts, statuses } = model;
  const scale = width / (whole.to - whole.from);
  const drawnTo = new Float64Array(lanes).fill(-1);
  const bars: MinimapBar[] = [];
  const errors = new Map<number, MinimapBar>();
  for (const run of order) {
    const lane = Math.min(depths[run] ?? 0, lanes - 1);
    const start = starts[run] ?? 0;
    const x = (start - whole.from) * scale;
    const barWidth = Math.max(1, (endOf(model, run, now) - start) * scale);
    if (statuses[run] === statusCodes.error) {
      errors.set(lane * width + Math.floor(x), { x, width: barWidth, lane, run, isError: true });
    }
    if (x + barWidth > (drawnTo[lane] ?? 0) + 0.5) {
      bars.push({ x, width: barWidth, lane, run, isError: false });
      drawnTo[lane] = x + barWidth;
    }
  }
  return [...bars, ...errors.values()];
}
