import { formatShare } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Tile, Tiles } from "../../components/page/tiles.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { formatDuration } from "../../components/time/time.ts";
import { errorRateOf, formatChange } from "./metrics.ts";
import type { MetricValues, Metrics } from "./metrics.ts";

interface Figure {
  readonly name: string;
  /** Returns `undefined` if there is nothing to show. */
  readonly read: (values: MetricValues) => number | undefined;
  readonly format: (value: number) => string;
}

const tiles: readonly Figure[] = [
  { name: "Runs", read: ({ runs }) => runs, format: formatCount },
  { name: "Error rate", read: errorRateOf, format: formatShare },
  { name: "p50 latency", read: ({ latency }) => latency.p50, format: formatDuration },
  { name: "p95 latency", read: ({ latency }) => latency.p95, format: formatDuration },
  { name: "p99 latency", read: ({ latency }) => latency.p99, format: formatDuration },
  { name: "p50 first token", read: ({ firstToken }) => firstToken.p50, format: formatDuration },
  { name: "Tokens", read: ({ tokens }) => zeroToUndefined(tokens), format: formatCount },
  { name: "Cost", read: ({ cost }) => zeroToUndefined(cost), format: formatDollars },
];

const zeroToUndefined = (value: number): number | undefined => (value === 0 ? undefined : value);

/** The numbers of all runs, each with its change since the period before. What was not measured in either has no tile. */
export const MetricTiles = ({ metrics: { total, previous } }: { readonly metrics: Metrics }) => (
  <Tiles label="Totals">
    {tiles
      .map(({ name, read, format }) => ({
        name,
        format,
        value: read(total),
        previousValue: read(previous),
      }))
      .filter(
        ({ name, value, previousValue }) =>
          name !== firstTokenTile || value !== undefined || previousValue !== undefined,
      )
      .map(({ name, format, value, previousValue }) => (
        <Tile
          key={name}
          name={name}
          value={value === undefined ? undefined : format(value)}
          change={formatChange(value, previousValue)}
        />
      ))}
  </Tiles>
);

/** Traces have no first token of their own; model calls have, if they were streamed. */
const firstTokenTile = "p50 first token";
