import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { formatTime } from "../time/time.ts";
import { describeSeries, formatCount, toDrawn } from "./chart-data.ts";
import type { ChartSeries } from "./chart-data.ts";
import { drawChart } from "./chart-plot.ts";
import type { ChartPlot } from "./chart-plot.ts";
import "./chart.css";

export interface ChartProps {
  /** What it shows. */
  readonly label: string;
  /** Places on the horizontal scale, ascending: milliseconds since the epoch, or numbers. */
  readonly at: readonly number[];
  /** @defaultValue "time" */
  readonly scale?: "time" | "number";
  readonly series: readonly ChartSeries[];
  /** @defaultValue a count */
  readonly format?: (value: number) => string;
  /** Ends of the horizontal scale. @defaultValue those of `at` */
  readonly range?: readonly [from: number, to: number] | undefined;
  /** Pixels. @defaultValue 160 */
  readonly height?: number;
  /** Called with what was brushed: two places on the horizontal scale. */
  readonly onSelect?: (from: number, to: number) => void;
}

/** Series over time, or over numbers, with the values under the pointer. With a text for screen readers. */
export const Chart = (props: ChartProps) => {
  const { label, at, series, format = formatCount, scale = "time" } = props;
  const [index, setIndex] = useState<number>();
  const holder = usePlot(props, setIndex);
  const moment = index === undefined ? undefined : at[index];
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="chart-label">{label}</span>
        <span className="chart-place" aria-hidden="true">
          {moment !== undefined &&
            (scale === "time" ? formatTime(moment).slice(0, 19) : format(moment))}
        </span>
        <ul className="chart-legend" aria-hidden="true">
          {series.map(({ label: name, color, values }) => (
            <li key={name} style={{ borderColor: `var(${color})` }}>
              {name} <b>{formatAt(values, index, format)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div className="chart-plot" ref={holder} />
      <p className="unseen">{describeSeries(series, format)}</p>
    </figure>
  );
};

/** The value under the pointer, else the last. */
function formatAt(
  values: readonly (number | null)[],
  index: number | undefined,
  format: (value: number) => string,
): string {
  const value = index === undefined ? values.findLast((one) => one !== null) : values[index];
  return value === undefined || value === null ? "–" : format(value);
}

function usePlot(props: ChartProps, onPoint: (index: number | undefined) => void) {
  const { at, series, scale = "time", range, height = 160, onSelect, format = formatCount } = props;
  const holder = useRef<HTMLDivElement>(null);
  const [plot, setPlot] = useState<ChartPlot>();
  const data = useMemo(() => [at, ...toDrawn(series)], [at, series]);
  const shape = JSON.stringify(series.map(({ label, color, kind }) => ({ label, color, kind })));
  const canSelect = onSelect !== undefined;
  const formatNow = useEffectEvent(format);
  const selectNow = useEffectEvent((from: number, to: number) => onSelect?.(from, to));
  // Another set of series is another plot; other values are not.
  useEffect(() => {
    if (holder.current === null) {
      return undefined;
    }
    const drawn = drawChart(holder.current, {
      lines: JSON.parse(shape) as readonly Omit<ChartSeries, "values">[],
      scale,
      height,
      format: (value) => formatNow(value),
      onPoint,
      onSelect: canSelect ? (from, to) => selectNow(from, to) : undefined,
    });
    setPlot(drawn);
    return () => drawn?.end();
  }, [shape, scale, height, canSelect, onPoint]);
  useEffect(() => plot?.show(data, range), [plot, data, range]);
  return holder;
}
