/** A visible time window, in microseconds since the `baseMicros` of the trace's model. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** The length of the shortest time window: one microsecond, the resolution of run times. */
const minWindowMicros = 1;

/** Returns the window from a trace's first start to its last end; `now` is the end of runs that have not ended. */
export function computeFullRange(
  { starts, ends, count }: { starts: Float64Array; ends: Float64Array; count: number },
  now: number,
): TimeWindow {
  let from = Infinity;
  let to = -Infinity;
  for (let run = 0; run < count; run += 1) {
    const start = starts[run] ?? 0;
    const end = ends[run] ?? Number.NaN;
    from = Math.min(from, start);
    to = Math.max(to, start, Number.isNaN(end) ? now : end);
  }
  return count === 0
    ? { from: 0, to: minWindowMicros }
    : { from, to: Math.max(to, from + minWindowMicros) };
}

/** Position of a time interval within a window. */
export interface Bar {
  /** The left edge. Like `width`, it is a fraction of the window's width, from 0 to 1. */
  readonly left: number;
  readonly width: number;
  /** Whether any part of the interval is in the window. */
  readonly isVisible: boolean;
}

/** Returns the position of an interval within a window, clipped to the window. */
export function toBar({ from, to }: TimeWindow, start: number, end: number): Bar {
  const span = to - from;
  const left = Math.min(1, Math.max(0, (start - from) / span));
  const right = Math.min(1, Math.max(0, (end - from) / span));
  return { left, width: Math.max(0, right - left), isVisible: end >= from && start <= to };
}

/**
 * Zooms a window. The position `around` within the window, from 0 to 1, stays fixed. A factor below 1 zooms in. The
 * result stays within `fullRange`.
 */
export function zoom(
  window: TimeWindow,
  {
    factor,
    around,
    fullRange,
  }: { readonly factor: number; readonly around: number; readonly fullRange: TimeWindow },
): TimeWindow {
  const span = window.to - window.from;
  const newSpan = Math.max(minWindowMicros, Math.min(fullRange.to - fullRange.from, span * factor));
  const from = window.from + around * (span - newSpan);
  return moveInto({ from, to: from + newSpan }, fullRange);
}

/**
 * Moves a window by a fraction of its width. A negative fraction moves it to earlier times. The result stays within
 * `fullRange`.
 */
export function pan(window: TimeWindow, fraction: number, fullRange: TimeWindow): TimeWindow {
  const offset = (window.to - window.from) * fraction;
  return moveInto({ from: window.from + offset, to: window.to + offset }, fullRange);
}

/** Returns the window between two times in any order, limited to `fullRange`. */
export function createWindow(a: number, b: number, fullRange: TimeWindow): TimeWindow {
  const from = Math.min(a, b);
  return moveInto({ from, to: Math.max(a, b, from + minWindowMicros) }, fullRange);
}

/** Shortens a window to the length of `fullRange` if it is longer, and moves it inside `fullRange`. */
function moveInto({ from, to }: TimeWindow, fullRange: TimeWindow): TimeWindow {
  const span = Math.min(to - from, fullRange.to - fullRange.from);
  const start = Math.max(fullRange.from, Math.min(from, fullRange.to - span));
  return { from: start, to: start + span };
}

/**
 * Returns the positions of about `count` tick marks in a window, at round distances from `zero`. If fewer than two of
 * them are in the window, a tick mark at the end of the window is added.
 */
export function toTicks(window: TimeWindow, count: number, zero: number): readonly number[] {
  const span = window.to - window.from;
  const step = toRoundStep(span / Math.max(1, count));
  const first = Math.ceil((window.from - zero) / step);
  const ticks: number[] = [];
  for (
    let index = first;
    zero + index * step <= window.to && ticks.length < count + 1;
    index += 1
  ) {
    ticks.push(zero + index * step);
  }
  return ticks.length > 1 ? ticks : [...ticks, window.to];
}

const microsPerSecond = 1_000_000;
/** Round distances between two ticks, in seconds. */
const clockSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400,
];

/**
 * Returns the smallest round distance between ticks, in microseconds, that is at least `least`: 1, 2 or 5 times a power
 * of ten or, above one second, a distance such as 15 s or 6 h.
 */
function toRoundStep(least: number): number {
  if (least > microsPerSecond) {
    const seconds = clockSteps.find((step) => step * microsPerSecond >= least);
    return seconds === undefined
      ? Math.ceil(least / (86_400 * microsPerSecond)) * 86_400 * microsPerSecond
      : seconds * microsPerSecond;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, minWindowMicros)));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least) ?? power * 10;
}
