import uPlot from "uplot";
import type { ChartSeries } from "./chart-data.ts";

export interface PlotOptions {
  readonly lines: readonly Omit<ChartSeries, "values">[];
  readonly scale: "time" | "number";
  readonly height: number;
  readonly format: (value: number) => string;
  /** Called with the index under the pointer; `undefined`: the pointer left. */
  readonly onPoint: (index: number | undefined) => void;
  readonly onSelect: ((from: number, to: number) => void) | undefined;
}

/** A plot on a canvas, in the colours and the width of what it stands in. */
export interface ChartPlot {
  /** The places, then the values of each line. @defaultValue range the first and the last place */
  show(
    data: readonly (readonly (number | null)[])[],
    range?: readonly [from: number, to: number],
  ): void;
  end(): void;
}

const font = "11px system-ui, sans-serif";
/** Pixels that a drag must be long to be meant. */
const dragMin = 4;

/** `undefined` where nothing can be drawn; the chart then shows only its text. */
export function drawChart(holder: HTMLElement, options: PlotOptions): ChartPlot | undefined {
  if (document.createElement("canvas").getContext("2d") === null) {
    return undefined;
  }
  let shownRange: readonly [from: number, to: number] | undefined;
  const plot = new uPlot(
    toOptions(holder, options, () => shownRange),
    undefined,
    holder,
  );
  const resized = new ResizeObserver(() =>
    plot.setSize({ width: holder.clientWidth, height: options.height }),
  );
  resized.observe(holder);
  const themed = new MutationObserver(() => plot.redraw(false));
  themed.observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
  return {
    show: (data, range) => {
      shownRange = range;
      plot.setData(data.map((values) => [...values]) as uPlot.AlignedData);
    },
    end: () => {
      resized.disconnect();
      themed.disconnect();
      plot.destroy();
    },
  };
}

function toOptions(
  holder: HTMLElement,
  options: PlotOptions,
  range: () => readonly [from: number, to: number] | undefined,
): uPlot.Options {
  const { lines, scale, height, format, onPoint, onSelect } = options;
  const color = (name: string): string =>
    getComputedStyle(holder).getPropertyValue(name) || "currentcolor";
  const axis: uPlot.Axis = {
    font,
    stroke: () => color("--ink-2"),
    grid: { stroke: () => color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: holder.clientWidth,
    height,
    ms: 1,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: onSelect !== undefined, y: false, setScale: false, dist: dragMin },
      points: { size: 6 },
    },
    select: { show: onSelect !== undefined, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: {
        time: scale === "time",
        range: (_, from, to) => [...(range() ?? spread(from, to))],
      },
      y: { range: (_, __, top) => [0, top > 0 ? top * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 70, size: 28, ...(scale === "time" ? { values: timeLabels } : {}) },
      { ...axis, space: 30, size: 52, values: (_, ticks) => ticks.map(format) },
    ],
    series: [{}, ...lines.map((line) => toSeries(line, color))],
    hooks: {
      setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width >= dragMin) {
            onSelect?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          }
        },
      ],
    },
  };
}

function toSeries(
  { label, color: name, kind = "line" }: Omit<ChartSeries, "values">,
  color: (name: string) => string,
): uPlot.Series {
  const isBars = kind === "bars" || kind === "stack";
  const bars = isBars ? uPlot.paths.bars?.({ size: [0.9, 40], align: 0 }) : undefined;
  return {
    label,
    width: isBars ? 0 : 1.5,
    stroke: () => color(name),
    points: isBars
      ? { show: false }
      : { show: true, size: 5, fill: () => color(name), filter: findAlone },
    ...(bars === undefined ? {} : { paths: bars }),
    ...(isBars ? { fill: () => color(name) } : {}),
    ...(kind === "area"
      ? { fill: () => `color-mix(in srgb, ${color(name)} 18%, transparent)` }
      : {}),
  };
}

/** Values without a neighbour: no line leads to them. */
function findAlone(plot: uPlot, index: number): number[] {
  const values = plot.data[index] ?? [];
  const isThere = (at: number): boolean => typeof values[at] === "number";
  return [...values.keys()].filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
}

/** One place alone still has a scale. */
const spread = (from: number, to: number): readonly [number, number] =>
  from === to ? [from - 1, to + 1] : [from, to];

/** Clock times; where they are days apart, dates. */
function timeLabels(_: uPlot, ticks: readonly number[], ...rest: readonly number[]): string[] {
  const stepMs = rest.at(-1) ?? 0;
  const format: Intl.DateTimeFormatOptions =
    stepMs >= 86_400_000
      ? { month: "short", day: "numeric" }
      : {
          hour: "2-digit",
          minute: "2-digit",
          hourCycle: "h23",
          ...(stepMs < 60_000 ? { second: "2-digit" } : {}),
        };
  const formatter = new Intl.DateTimeFormat("en", format);
  return ticks.map((tick) => formatter.format(tick));
}
