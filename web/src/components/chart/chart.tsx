import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import type { HTMLAttributes } from "react";
import { formatTime } from "../time/time.ts";
import {
  describeSeries,
  findOnlyReference,
  findReference,
  findSeriesAt,
  formatCount,
  readTotal,
  stackSeries,
} from "./chart-data.ts";
import type { ChartSeries } from "./chart-data.ts";
import { drawChart } from "./chart-plot.ts";
import type { ChartPlot, ClickedValue } from "./chart-plot.ts";
import "./chart.css";

export interface ChartProps {
  /** The title of the chart. */
  readonly label: string;
  /** Positions on the horizontal scale, ascending: milliseconds since the Unix epoch, or numbers. */
  readonly positions: readonly number[];
  /** @defaultValue "time" */
  readonly scale?: "time" | "number";
  readonly series: readonly ChartSeries[];
  /** Formats a value for the axis and the legend. @defaultValue {@link formatCount} */
  readonly format?: (value: number) => string;
  /** The range of the horizontal scale. @defaultValue from the first to the last position */
  readonly range?: readonly [from: number, to: number] | undefined;
  /** In pixels. @defaultValue 160 */
  readonly height?: number;
  /**
   * Whether the chart has its own legend. If not, several charts share a legend, and the values at the selected
   * position are shown over the plot.
   *
   * @defaultValue true
   */
  readonly hasLegend?: boolean;
  /** Called with the range on the horizontal scale that the user dragged across. */
  readonly onSelect?: (from: number, to: number) => void;
  /**
   * Called with the index of a position and the index of a series when the user clicks on a bar or a line. With the
   * keyboard, the arrow keys, Home and End select a position, and Enter picks it. `seriesIndex` is then `undefined`,
   * which means all series except references; with Shift, or if only a reference has a value there, it is the index of
   * the reference.
   */
  readonly onPick?: (index: number, seriesIndex: number | undefined) => void;
}

/**
 * A chart of series over time or over numbers. The legend shows the values under the pointer or, without a pointer, the
 * values of the whole range. A text describes the chart for screen readers.
 */
export const Chart = (props: ChartProps) => {
  const { label, positions, series, format = formatCount, scale = "time", onPick } = props;
  const { hasLegend = true } = props;
  const [index, setIndex] = useState<number>();
  const container = usePlot(props, setIndex);
  const position = index === undefined ? undefined : positions[index];
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="chart-label">{label}</span>
        <span className="chart-place" aria-hidden="true">
          {position !== undefined &&
            (scale === "time" ? formatTime(position).slice(0, 19) : format(position))}
        </span>
        {(hasLegend || index !== undefined) && (
          <ul
            className={hasLegend ? "chart-legend" : "chart-legend chart-values"}
            // In the other half of the plot, so that the values do not cover what they describe.
            data-side={index !== undefined && index >= positions.length / 2 ? "left" : "right"}
            aria-hidden="true"
          >
            {series.map((shownSeries) => (
              <li
                key={shownSeries.label}
                className={shownSeries.kind === "reference" ? "legend-reference" : undefined}
                style={{ borderColor: `var(${shownSeries.color})` }}
              >
                {shownSeries.label} <b>{formatLegendValue(shownSeries, index, format)}</b>
              </li>
            ))}
          </ul>
        )}
      </figcaption>
      <div
        className="chart-plot"
        ref={container}
        {...(onPick === undefined
          ? {}
          : toSliderProps({
              label,
              index,
              count: positions.length,
              text: describePosition(props, index),
              onIndex: setIndex,
              onEnter: (picked, hasShift) =>
                onPick(
                  picked,
                  hasShift ? findReference(series) : findOnlyReference(series, picked),
                ),
            }))}
      />
      <p className="unseen">{describeSeries(series, format)}</p>
    </figure>
  );
};

/** Describes a position and the values there, for screen readers. */
function describePosition(
  { positions, series, scale = "time", format = formatCount }: ChartProps,
  index: number | undefined,
): string {
  const position = index === undefined ? undefined : positions[index];
  if (index === undefined || position === undefined) {
    return "No position";
  }
  const positionText = scale === "time" ? formatTime(position).slice(0, 16) : format(position);
  return [
    positionText,
    ...series.map(({ label, values }) => `${label} ${formatValue(values[index], format)}`),
  ].join(", ");
}

/** The attributes of a plot whose positions can be selected with the keyboard. */
const toSliderProps = ({
  label,
  index,
  count,
  text,
  onIndex,
  onEnter,
}: {
  readonly label: string;
  readonly index: number | undefined;
  readonly count: number;
  readonly text: string;
  readonly onIndex: (index: number) => void;
  readonly onEnter: (index: number, hasShift: boolean) => void;
}): HTMLAttributes<HTMLDivElement> => ({
  role: "slider",
  tabIndex: 0,
  "aria-label": label,
  "aria-valuemin": 0,
  "aria-valuemax": Math.max(0, count - 1),
  "aria-valuenow": index ?? 0,
  "aria-valuetext": text,
  onKeyDown: (event) => {
    const lastIndex = count - 1;
    // If no position is selected, the first step selects the newest position.
    const targets: Readonly<Record<string, number>> = {
      ArrowLeft: index === undefined ? lastIndex : index - 1,
      ArrowRight: index === undefined ? lastIndex : index + 1,
      Home: 0,
      End: lastIndex,
    };
    const target = targets[event.key];
    if (target !== undefined) {
      event.preventDefault();
      onIndex(Math.max(0, Math.min(lastIndex, target)));
    } else if (event.key === "Enter" && index !== undefined) {
      onEnter(index, event.shiftKey);
    }
  },
});

/**
 * Formats the value at the selected position. If no position is selected, formats the value of the whole range; empty
 * if the series has none.
 */
function formatLegendValue(
  series: ChartSeries,
  index: number | undefined,
  format: (value: number) => string,
): string {
  if (index !== undefined) {
    return formatValue(series.values[index], format);
  }
  const total = readTotal(series);
  return total === undefined ? "" : format(total);
}

const formatValue = (value: number | null | undefined, format: (value: number) => string): string =>
  value === undefined || value === null ? "–" : format(value);

/** Returns the indexes of series in drawing order. References are drawn last, because bars would cover them. */
function toDrawnOrder(series: readonly ChartSeries[]): readonly number[] {
  const isReference = (seriesIndex: number): boolean => series[seriesIndex]?.kind === "reference";
  const indexes = [...series.keys()];
  return [
    ...indexes.filter((seriesIndex) => !isReference(seriesIndex)),
    ...indexes.filter(isReference),
  ];
}

/**
 * Calls the function after the browser has painted what was rendered, in a task of its own. Drawing a plot reads
 * styles, which the browser would otherwise have to compute in the task that changed the page. Returns a function that
 * cancels.
 */
function afterNextPaint(callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(callback);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

function usePlot(props: ChartProps, onPoint: (index: number | undefined) => void) {
  const {
    positions,
    series,
    scale = "time",
    range,
    height = 160,
    onSelect,
    onPick,
    format = formatCount,
  } = props;
  const container = useRef<HTMLDivElement>(null);
  const [plot, setPlot] = useState<ChartPlot>();
  const order = useMemo(() => toDrawnOrder(series), [series]);
  const data = useMemo(() => {
    const drawnValues = stackSeries(series);
    return [positions, ...order.map((seriesIndex) => drawnValues[seriesIndex] ?? [])];
  }, [positions, series, order]);
  const seriesKey = JSON.stringify(
    order.map((seriesIndex) => {
      const { label, color, kind } = series[seriesIndex] ?? {};
      return { label, color, kind };
    }),
  );
  const canSelect = onSelect !== undefined;
  const canPick = onPick !== undefined;
  const formatTick = useEffectEvent(format);
  const reportSelection = useEffectEvent((from: number, to: number) => onSelect?.(from, to));
  const pick = useEffectEvent((index: number, at: ClickedValue) => {
    const seriesIndex = findSeriesAt(series, index, at);
    if (seriesIndex !== undefined) {
      onPick?.(index, seriesIndex);
    }
  });
  // Create the plot again only if the set of series changes. New values are drawn into the same plot.
  useEffect(() => {
    const element = container.current;
    if (element === null) {
      return undefined;
    }
    let newPlot: ChartPlot | undefined;
    const cancel = afterNextPaint(() => {
      newPlot = drawChart(element, {
        seriesOptions: JSON.parse(seriesKey) as readonly Omit<ChartSeries, "values">[],
        scale,
        height,
        // Write zero without a unit: a format for durations would write `< 1 µs`.
        format: (value) => (value === 0 ? "0" : formatTick(value)),
        onPoint,
        onSelect: canSelect ? (from, to) => reportSelection(from, to) : undefined,
        onClick: canPick ? (index, at) => pick(index, at) : undefined,
      });
      setPlot(newPlot);
    });
    return () => {
      cancel();
      newPlot?.destroy();
    };
  }, [seriesKey, scale, height, canSelect, canPick, onPoint]);
  useEffect(() => plot?.show(data, range), [plot, data, range]);
  return container;
}
