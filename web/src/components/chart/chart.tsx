import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { formatTime } from "../time/time.ts";
import { describeSeries, formatCount, stackSeries } from "./chart-data.ts";
import type { ChartSeries } from "./chart-data.ts";
import { drawChart } from "./chart-plot.ts";
import type { ChartPlot } from "./chart-plot.ts";
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
  /** Called with the range on the horizontal scale that the user dragged across. */
  readonly onSelect?: (from: number, to: number) => void;
}

/** A chart of series over time or over numbers. It shows the values under the pointer, and a text for screen readers. */
export const Chart = (props: ChartProps) => {
  const { label, positions, series, format = formatCount, scale = "time" } = props;
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
        <ul className="chart-legend" aria-hidden="true">
          {series.map(({ label: name, color, values }) => (
            <li key={name} style={{ borderColor: `var(${color})` }}>
              {name} <b>{formatValueAt(values, index, format)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div className="chart-plot" ref={container} />
      <p className="unseen">{describeSeries(series, format)}</p>
    </figure>
  );
};

/** Formats the value under the pointer; if there is none, the last value. */
function formatValueAt(
  values: readonly (number | null)[],
  index: number | undefined,
  format: (value: number) => string,
): string {
  const value =
    index === undefined ? values.findLast((candidate) => candidate !== null) : values[index];
  return value === undefined || value === null ? "–" : format(value);
}

function usePlot(props: ChartProps, onPoint: (index: number | undefined) => void) {
  const {
    positions,
    series,
    scale = "time",
    range,
    height = 160,
    onSelect,
    format = formatCount,
  } = props;
  const container = useRef<HTMLDivElement>(null);
  const [plot, setPlot] = useState<ChartPlot>();
  const data = useMemo(() => [positions, ...stackSeries(series)], [positions, series]);
  const seriesKey = JSON.stringify(
    series.map(({ label, color, kind }) => ({ label, color, kind })),
  );
  const canSelect = onSelect !== undefined;
  const formatValue = useEffectEvent(format);
  const reportSelection = useEffectEvent((from: number, to: number) => onSelect?.(from, to));
  // The plot is created again only if the set of series changes; new values are drawn into the same plot.
  useEffect(() => {
    if (container.current === null) {
      return undefined;
    }
    const newPlot = drawChart(container.current, {
      seriesOptions: JSON.parse(seriesKey) as readonly Omit<ChartSeries, "values">[],
      scale,
      height,
      format: (value) => formatValue(value),
      onPoint,
      onSelect: canSelect ? (from, to) => reportSelection(from, to) : undefined,
    });
    setPlot(newPlot);
    return () => newPlot?.destroy();
  }, [seriesKey, scale, height, canSelect, onPoint]);
  useEffect(() => plot?.show(data, range), [plot, data, range]);
  return container;
}
