import uPlot from "uplot";
import { isLabelInside, toTimeLabels } from "./chart-data.ts";
import type { ChartSeries } from "./chart-data.ts";

export interface PlotOptions {
  readonly seriesOptions: readonly Omit<ChartSeries, "values">[];
  /** Whether the positions on the horizontal scale are times or numbers. */
  readonly scale: "time" | "number";
  readonly height: number;
  readonly format: (value: number) => string;
  /** Called with the index of the position under the pointer, or `undefined` when the pointer leaves the plot. */
  readonly onPoint: (index: number | undefined) => void;
  /** Called with the range on the horizontal scale that the user dragged across. */
  readonly onSelect: ((from: number, to: number) => void) | undefined;
  /** Called with the index of the position and the value at which the user clicked. */
  readonly onClick: ((index: number, at: ClickedValue) => void) | undefined;
}

/** A plot on a canvas. It follows the width and the colors of its container. */
export interface ChartPlot {
  /**
   * Draws new data: first the positions on the horizontal scale, then the values of each series. `range`
   * limits the horizontal scale.
   *
   * @defaultValue range from the first to the last position
   */
  show(
    data: readonly (readonly (number | null)[])[],
    range?: readonly [from: number, to: number],
  ): void;
  /** Removes the plot and its observers. */
  destroy(): void;
}

const axisFont = '11px "Inter Variable", system-ui, sans-serif';
/** Width of the vertical axis with short labels, and the space next to its labels; in pixels. */
const minAxisWidth = 52;
const axisGap = 12;
/**
 * Plots whose height is less than this, in pixels, are used for counts. The labels of their vertical axis are closer
 * together, so that there are labels other than zero, and only whole numbers have a label.
 */
const lowHeight = 120;
/** A reference that is at most this many pixels from the pointer is picked, although a bar may cover the position. */
const closePixels = 6;

/** The value under the pointer, and by how much values change within a few pixels. */
export interface ClickedValue {
  readonly value: number;
  readonly closeness: number;
}

/** A drag of fewer pixels counts as a click. */
const minDragPixels = 4;

/** Creates the plot. Returns `undefined` if the browser has no canvas; the chart then shows only its text. */
export function drawChart(container: HTMLElement, options: PlotOptions): ChartPlot | undefined {
  if (document.createElement("canvas").getContext("2d") === null) {
    return undefined;
  }
  let shownRange: readonly [from: number, to: number] | undefined;
  const plot = new uPlot(
    toOptions(container, options, () => shownRange),
    undefined,
    container,
  );
  // The first call reports the width that the plot already has. It would draw the plot twice.
  const resizeObserver = new ResizeObserver(() => {
    if (container.clientWidth !== plot.width) {
      plot.setSize({ width: container.clientWidth, height: options.height });
    }
  });
  resizeObserver.observe(container);
  // Redraw when the color scheme changes, because the color of bars is part of their paths.
  const themeObserver = new MutationObserver(() => plot.redraw());
  themeObserver.observe(document.documentElement, {
    attributeFilter: ["data-mantine-color-scheme"],
  });
  return {
    show: (data, range) => {
      // If the set of series changes, their data may arrive before the plot that replaces this one.
      if (data.length !== plot.series.length) {
        return;
      }
      shownRange = range;
      plot.setData(data.map((values) => [...values]) as uPlot.AlignedData);
    },
    destroy: () => {
      resizeObserver.disconnect();
      themeObserver.disconnect();
      plot.destroy();
    },
  };
}

function toOptions(
  container: HTMLElement,
  options: PlotOptions,
  getRange: () => readonly [from: number, to: number] | undefined,
): uPlot.Options {
  const { seriesOptions, scale, height, format, onPoint, onSelect, onClick } = options;
  const readColor = (name: string): string =>
    getComputedStyle(container).getPropertyValue(name) || "currentcolor";
  const axis: uPlot.Axis = {
    font: axisFont,
    stroke: () => readColor("--ink-2"),
    grid: { stroke: () => readColor("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: container.clientWidth,
    height,
    ms: 1,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: onSelect !== undefined, y: false, setScale: false, dist: minDragPixels },
      points: { size: 6 },
    },
    select: { show: onSelect !== undefined, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: {
        time: scale === "time",
        range: (_, from, to) => [...(getRange() ?? widenRange(from, to))],
      },
      y: { range: (_, __, top) => [0, top > 0 ? top * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 70, size: 28, ...(scale === "time" ? { values: formatTimeLabels } : {}) },
      {
        ...axis,
        space: height < lowHeight ? 18 : 30,
        size: computeAxisWidth,
        values: (_, ticks) =>
          ticks.map((tick) => (height < lowHeight && !Number.isInteger(tick) ? "" : format(tick))),
      },
    ],
    series: [{}, ...seriesOptions.map((seriesOption) => toSeries(seriesOption, readColor))],
    hooks: {
      ready: [
        (plot) =>
          plot.over.addEventListener("click", () => {
            const { idx, top = -1 } = plot.cursor;
            // The end of a drag also causes a click event, which must not count as a click.
            if (
              idx !== undefined &&
              idx !== null &&
              top >= 0 &&
              plot.select.width < minDragPixels
            ) {
              const value = plot.posToVal(top, "y");
              const closeness = Math.abs(plot.posToVal(top + closePixels, "y") - value);
              onClick?.(idx, { value, closeness });
            }
          }),
      ],
      setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width >= minDragPixels) {
            onSelect?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          }
        },
      ],
    },
  };
}

/** The width of the vertical axis, which depends on its longest label. */
function computeAxisWidth(plot: uPlot, labels: readonly string[] | null): number {
  plot.ctx.font = axisFont;
  // With this font size, the measured width of a label is its width on the screen, independent of the canvas's pixel
  // ratio.
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label).width);
  return Math.max(minAxisWidth, Math.ceil(Math.max(0, ...widths)) + axisGap);
}

function toSeries(
  { label, color: name, kind = "line" }: Omit<ChartSeries, "values">,
  readColor: (name: string) => string,
): uPlot.Series {
  const isBars = kind === "bars" || kind === "stack";
  const bars = isBars ? uPlot.paths.bars?.({ size: [0.9, 40], align: 0 }) : undefined;
  return {
    label,
    width: isBars ? 0 : 1.5,
    ...(kind === "reference"
      ? { dash: [4, 4], stroke: () => `color-mix(in srgb, ${readColor(name)} 85%, transparent)` }
      : { stroke: () => readColor(name) }),
    points: isBars
      ? { show: false }
      : { show: true, size: 5, fill: () => readColor(name), filter: findIsolatedIndexes },
    ...(bars === undefined ? {} : { paths: bars }),
    ...(isBars ? { fill: () => readColor(name) } : {}),
    ...(kind === "area"
      ? { fill: () => `color-mix(in srgb, ${readColor(name)} 18%, transparent)` }
      : {}),
  };
}

/** Returns the indexes of values without neighbors. No line is drawn to them, so they are drawn as points. */
function findIsolatedIndexes(plot: uPlot, seriesIndex: number): number[] {
  const values = plot.data[seriesIndex] ?? [];
  const hasValue = (position: number): boolean => typeof values[position] === "number";
  return [...values.keys()].filter(
    (valueIndex) => hasValue(valueIndex) && !hasValue(valueIndex - 1) && !hasValue(valueIndex + 1),
  );
}

/** Widens the range of a single position, which would have no width. */
const widenRange = (from: number, to: number): readonly [number, number] =>
  from === to ? [from - 1, to + 1] : [from, to];

/** Returns the labels of the time axis. Leaves out a label that would be cut off at an edge of the plot. */
function formatTimeLabels(
  plot: uPlot,
  ticks: readonly number[],
  ...others: readonly number[]
): string[] {
  // uPlot passes the distance between two ticks as the last argument.
  const labels = toTimeLabels(ticks, others.at(-1) ?? 0);
  const plotWidth = plot.bbox.width / uPlot.pxRatio;
  plot.ctx.font = axisFont;
  return labels.map((label, index) =>
    isLabelInside(
      { center: plot.valToPos(ticks[index] ?? 0, "x"), width: plot.ctx.measureText(label).width },
      plotWidth,
    )
      ? label
      : "",
  );
}
