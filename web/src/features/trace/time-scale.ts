/** A stretch of time that is shown, microseconds from the trace's base. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** Shortest stretch that can be shown: one microsecond, the clock's step. */
const shortest = 1;

/** The whole of a trace. */
export function spanOf(
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
  return count === 0 ? { from: 0, to: shortest } : { from, to: Math.max(to, from + shortest) };
}

export interface Bar {
  /** 0 to 1 of the window's width. */
  readonly left: number;
  readonly width: number;
  /** Whether any of it lies in the window. */
  readonly isIn: boolean;
}

/** Where a stretch of time lies in a window; what is outside is cut off. */
export function toBar({ from, to }: TimeWindow, start: number, end: number): Bar {
  const span = to - from;
  const left = Math.min(1, Math.max(0, (start - from) / span));
  const right = Math.min(1, Math.max(0, (end - from) / span));
  return { left, width: Math.max(0, right - left), isIn: end >= from && start <= to };
}

/** A window zoomed around a place in it, 0 to 1; a factor below 1 shows less time. Stays in `whole`. */
export function zoom(
  window: TimeWindow,
  {
    factor,
    around,
    whole,
  }: { readonly factor: number; readonly around: number; readonly whole: TimeWindow },
): TimeWindow {
  const span = window.to - window.from;
  const wanted = Math.max(shortest, Math.min(whole.to - whole.from, span * factor));
  const from = window.from + around * (span - wanted);
  return within({ from, to: from + wanted }, whole);
}

/** A window moved by a share of its own width. Stays in `whole`. */
export function pan(window: TimeWindow, share: number, whole: TimeWindow): TimeWindow {
  const by = (window.to - window.from) * share;
  return within({ from: window.from + by, to: window.to + by }, whole);
}

/** The window between two moments, whichever comes first, in `whole`. */
export function windowBetween(a: number, b: number, whole: TimeWindow): TimeWindow {
  const from = Math.min(a, b);
  return within({ from, to: Math.max(a, b, from + shortest) }, whole);
}

function within({ from, to }: TimeWindow, whole: TimeWindow): TimeWindow {
  const span = Math.min(to - from, whole.to - whole.from);
  const start = Math.max(whole.from, Math.min(from, whole.to - span));
  return { from: start, to: start + span };
}

/** Round moments in a window, `count` or fewer of them, counted from `zero`. */
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
  return ticks;
}

const second = 1_000_000;
const clockSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400,
];

/** The next step a person counts in: 1, 2 or 5 times a power of ten, above a second those of clocks. */
function toRoundStep(least: number): number {
  if (least > second) {
    const known = clockSteps.find((step) => step * second >= least);
    return known === undefined
      ? Math.ceil(least / (86_400 * second)) * 86_400 * second
      : known * second;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, shortest)));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least) ?? power * 10;
}
