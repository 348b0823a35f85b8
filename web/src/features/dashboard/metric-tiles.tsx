import { formatShare } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { formatDollars } from "../../components/text/cost.ts";
import { formatDuration } from "../../components/time/time.ts";
import { errorRateOf, formatChange } from "./metrics.ts";
import type { MetricValues, Metrics } from "./metrics.ts";

interface Tile {
  readonly name: string;
  /** Returns `undefined` if there is nothing to show. */
  readonly read: (values: MetricValues) => number | undefined;
  readonly format: (value: number) => string;
}

const tiles: readonly Tile[] = [
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

/** The numbers of all runs, each with its change since the period before. */
export const MetricTiles = ({ metrics: { total, previous } }: { readonly metrics: Metrics }) => (
  <dl className="metric-tiles" aria-label="Totals">
    {tiles.map(({ name, read, format }) => {
      const value = read(total);
      const change = formatChange(value, read(previous));
      return (
        <div key={name} className="metric-tile">
          <dt>{name}</dt>
          <dd>
            {value === undefined ? "–" : format(value)}
            {change !== undefined && <small className="metric-change">{change}</small>}
          </dd>
        </div>
      );
    })}
  </dl>
);
