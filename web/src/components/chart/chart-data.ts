/** Values over one scale, one for each place on it. */
export interface ChartSeries {
  readonly label: string;
  /** `null` without a value: the line has a gap there. */
  readonly values: readonly (number | null)[];
  /** A colour of theme.css, such as `--accent`. */
  readonly color: string;
  /**
   * `stack`: a bar on top of the stack of the series after it. @defaultValue "line"
   */
  readonly kind?: "line" | "area" | "bars" | "stack";
}

/** What is drawn: of a stack, each series holds what the ones after it add up to as well. */
export function toDrawn(series: readonly ChartSeries[]): readonly (readonly (number | null)[])[] {
  const drawn: (readonly (number | null)[])[] = [];
  let below: readonly (number | null)[] | undefined;
  for (const { kind, values } of series.toReversed()) {
    if (kind === "stack") {
      const floor = below;
      below = values.map((value, index) => {
        const under = floor?.[index] ?? null;
        return value === null && under === null ? null : (value ?? 0) + (under ?? 0);
      });
      drawn.push(below);
    } else {
      drawn.push(values);
    }
  }
  return drawn.toReversed();
}

/** What a chart shows, said in words: the last, the lowest and the highest value of each series. */
export function describeSeries(
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null);
      const last = known.at(-1);
      if (last === undefined) {
        return `${label}: no value.`;
      }
      const low = known.reduce((least, value) => Math.min(least, value));
      const high = known.reduce((most, value) => Math.max(most, value));
      return `${label}: last ${format(last)}, lowest ${format(low)}, highest ${format(high)}.`;
    })
    .join(" ");
}

/** A number for an axis or a legend: `0`, `0.02`, `7.5`, `1,200`, `34k`, `1.2M`. */
export function formatCount(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e4) {
    return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(
      value,
    );
  }
  return new Intl.NumberFormat("en", { maximumSignificantDigits: size < 1 ? 2 : 4 }).format(value);
}
