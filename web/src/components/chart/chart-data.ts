/** One series of a chart: a value for each position on the horizontal scale. */
export interface ChartSeries {
  readonly label: string;
  /** `null` for a missing value, which leaves a gap in the line. */
  readonly values: readonly (number | null)[];
  /** A color of theme.css, such as `--accent`. */
  readonly color: string;
  /**
   * How the series is drawn. `stack` draws bars on top of the stacked series that follow it in the list. `reference`
   * draws a faint, dashed line over the others, to compare them with.
   *
   * @defaultValue "line"
   */
  readonly kind?: "line" | "area" | "bars" | "stack" | "reference";
  /**
   * The value of the whole range, which the legend shows while no position is selected.
   *
   * @defaultValue the sum of the values of bars; a line has none, because rates and percentiles can't be added up
   */
  readonly total?: number | undefined;
}

/** The value of the whole range of a series; `undefined` if it has none. */
export function readTotal({ kind, values, total }: ChartSeries): number | undefined {
  if (total !== undefined) {
    return total;
  }
  return kind === "bars" || kind === "stack"
    ? values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
    : undefined;
}

/**
 * Converts series to the values to draw: the values of a stacked series are increased by the sum of the stacked
 * series that follow it.
 */
export function stackSeries(
  series: readonly ChartSeries[],
): readonly (readonly (number | null)[])[] {
  const drawnValues: (readonly (number | null)[])[] = [];
  let sumBelow: readonly (number | null)[] | undefined;
  for (const { kind, values } of series.toReversed()) {
    if (kind === "stack") {
      const previousSum = sumBelow;
      sumBelow = values.map((value, index) => {
        const previousValue = previousSum?.[index] ?? null;
        return value === null && previousValue === null
          ? null
          : (value ?? 0) + (previousValue ?? 0);
      });
      drawnValues.push(sumBelow);
    } else {
      drawnValues.push(values);
    }
  }
  return drawnValues.toReversed();
}

/**
 * Finds the series that is drawn at a value: a reference that is close to the value, because it is drawn over bars,
 * else the bar that covers the value, or else the nearest line. Returns `undefined` if no series has a value at the
 * position.
 *
 * @param closeness - the distance from a reference, in the unit of the values, within which it is picked
 */
export function findSeriesAt(
  series: readonly ChartSeries[],
  index: number,
  { value, closeness = 0 }: { readonly value: number; readonly closeness?: number },
): number | undefined {
  const drawnValues = stackSeries(series).map((values) => values[index] ?? null);
  const isBar = (seriesIndex: number): boolean =>
    series[seriesIndex]?.kind === "stack" || series[seriesIndex]?.kind === "bars";
  const candidates = [...drawnValues.entries()].flatMap(([seriesIndex, drawn]) =>
    drawn === null || (isBar(seriesIndex) && series[seriesIndex]?.values[index] === 0)
      ? []
      : [{ seriesIndex, drawn }],
  );
  const covering = candidates
    .filter(({ seriesIndex, drawn }) => isBar(seriesIndex) && drawn >= value)
    .toSorted((a, b) => a.drawn - b.drawn);
  const nearest = candidates.toSorted(
    (a, b) => Math.abs(a.drawn - value) - Math.abs(b.drawn - value),
  );
  const isCloseReference = ({ seriesIndex, drawn }: (typeof candidates)[number]): boolean =>
    series[seriesIndex]?.kind === "reference" && drawn > 0 && Math.abs(drawn - value) <= closeness;
  return (candidates.find(isCloseReference) ?? covering[0] ?? nearest[0])?.seriesIndex;
}

/** Returns the index of the reference; `undefined` if there is none. */
export const findReference = (series: readonly ChartSeries[]): number | undefined => {
  const index = series.findIndex(({ kind }) => kind === "reference");
  return index === -1 ? undefined : index;
};

/** Returns the index of a reference if no other series has a value, except zero, at a position. */
export function findOnlyReference(
  series: readonly ChartSeries[],
  index: number,
): number | undefined {
  const indexesWithValue = [...series.keys()].filter(
    (seriesIndex) => (series[seriesIndex]?.values[index] ?? 0) !== 0,
  );
  const isReference = (seriesIndex: number): boolean => series[seriesIndex]?.kind === "reference";
  return indexesWithValue.every(isReference) ? indexesWithValue[0] : undefined;
}

/** Describes a chart for screen readers: the last, the lowest and the highest value of each series. */
export function describeSeries(
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string {
  return series
    .map(({ label, values }) => {
      const definedValues = values.filter((value) => value !== null);
      const lastValue = definedValues.at(-1);
      if (lastValue === undefined) {
        return `${label}: no values.`;
      }
      const lowestValue = definedValues.reduce((least, value) => Math.min(least, value));
      const highestValue = definedValues.reduce((most, value) => Math.max(most, value));
      return `${label}: last ${format(lastValue)}, lowest ${format(lowestValue)}, highest ${format(highestValue)}.`;
    })
    .join(" ");
}

// Create each formatter only once, because creating one takes longer than rendering a cell of a table.
const compactFormat = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 3,
});
const fractionFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const plainFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** Formats a number for an axis or a legend: `0`, `0.02`, `7.5`, `1,200`, `34k`, `1.2M`. */
export function formatCount(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 1e4) {
    return compactFormat.format(value);
  }
  return (magnitude < 1 ? fractionFormat : plainFormat).format(value);
}

const dayMs = 86_400_000;

/** The maximum distance, in pixels, that a label may extend beyond the plot. It is the padding of the plot. */
const edgePixels = 8;

/** Whether a label of the horizontal axis fits, so that the edges of the plot do not cut it off. */
export const isLabelInside = (
  { center, width }: { readonly center: number; readonly width: number },
  plotWidth: number,
): boolean => center - width / 2 >= -edgePixels && center + width / 2 <= plotWidth + edgePixels;

/**
 * The labels of a time axis, in the browser's time zone: clock times, with the date at midnight instead of 00:00; dates
 * only if the ticks are days apart.
 */
export function toTimeLabels(ticks: readonly number[], stepMs: number): string[] {
  const dateFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
  const timeFormat = new Intl.DateTimeFormat("en", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(stepMs < 60_000 ? { second: "2-digit" } : {}),
  });
  return ticks.map((tick) => {
    const moment = new Date(tick);
    const isMidnight = moment.getHours() + moment.getMinutes() + moment.getSeconds() === 0;
    return (stepMs >= dayMs || isMidnight ? dateFormat : timeFormat).format(moment);
  });
}
