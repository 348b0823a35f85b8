/** One series of a chart: a value for each position on the horizontal scale. */
export interface ChartSeries {
  readonly label: string;
  /** `null` for a missing value, which leaves a gap in the line. */
  readonly values: readonly (number | null)[];
  /** A color of theme.css, such as `--accent`. */
  readonly color: string;
  /**
   * How the series is drawn. `stack` draws bars on top of the stacked series that follow it in the list.
   *
   * @defaultValue "line"
   */
  readonly kind?: "line" | "area" | "bars" | "stack";
}

/**
 * Converts series to the values to draw: the values of a stacked series are increased by the sum of the stacked
 * series that follow it.
 */
export function stackSeries(
  series: readonly ChartSeries[],
): readonly (readonly (number | null)[])[] {
  const drawn: (readonly (number | null)[])[] = [];
  let below: readonly (number | null)[] | undefined;
  for (const { kind, values } of series.toReversed()) {
    if (kind === "stack") {
      const lower = below;
      below = values.map((value, index) => {
        const lowerValue = lower?.[index] ?? null;
        return value === null && lowerValue === null ? null : (value ?? 0) + (lowerValue ?? 0);
      });
      drawn.push(below);
    } else {
      drawn.push(values);
    }
  }
  return drawn.toReversed();
}

/** Describes a chart for screen readers: the last, the lowest and the highest value of each series. */
export function describeSeries(
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string {
  return series
    .map(({ label, values }) => {
      const present = values.filter((value) => value !== null);
      const last = present.at(-1);
      if (last === undefined) {
        return `${label}: no values.`;
      }
      const low = present.reduce((least, value) => Math.min(least, value));
      const high = present.reduce((most, value) => Math.max(most, value));
      return `${label}: last ${format(last)}, lowest ${format(low)}, highest ${format(high)}.`;
    })
    .join(" ");
}

/** Formats a number for an axis or a legend: `0`, `0.02`, `7.5`, `1,200`, `34k`, `1.2M`. */
export function formatCount(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e4) {
    return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(
      value,
    );
  }
  return new Intl.NumberFormat("en", { maximumSignificantDigits: size < 1 ? 2 : 4 }).format(value);
}
