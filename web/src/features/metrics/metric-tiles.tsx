import { formatShare } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Tile, Tiles } from "../../components/page/tiles.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { formatDuration } from "../../components/time/time.ts";
import { AlertLink } from "./alert-link.tsx";
import { computeErrorRate, formatChange, formatShareChange } from "./metrics.ts";
import type { MetricValues, Metrics } from "./metrics.ts";

interface MetricTile {
  readonly name: string;
  /** The name of the metric in an alert. */
  readonly figure: string;
  /** Returns `undefined` if there is nothing to show. */
  readonly read: (values: MetricValues) => number | undefined;
  readonly format: (value: number) => string;
  /** @defaultValue {@link formatChange} */
  readonly formatChange?: typeof formatChange;
}

const countTile = "Runs";

const tiles: readonly MetricTile[] = [
  { name: countTile, figure: "runs", read: ({ runs }) => runs, format: formatCount },
  {
    name: "Error rate",
    figure: "error_rate",
    read: computeErrorRate,
    format: formatShare,
    formatChange: formatShareChange,
  },
  {
    name: "p50 latency",
    figure: "latency_p50",
    read: ({ latency }) => latency.p50,
    format: formatDuration,
  },
  {
    name: "p95 latency",
    figure: "latency_p95",
    read: ({ latency }) => latency.p95,
    format: formatDuration,
  },
  {
    name: "p99 latency",
    figure: "latency_p99",
    read: ({ latency }) => latency.p99,
    format: formatDuration,
  },
  {
    name: "p50 first token",
    figure: "first_token_p50",
    read: ({ firstToken }) => firstToken.p50,
    format: formatDuration,
  },
  {
    name: "Tokens",
    figure: "tokens",
    read: ({ tokens }) => zeroToUndefined(tokens),
    format: formatCount,
  },
  {
    name: "Cost",
    figure: "cost",
    read: ({ cost }) => zeroToUndefined(cost),
    format: formatDollars,
  },
];

const zeroToUndefined = (value: number): number | undefined => (value === 0 ? undefined : value);

/**
 * Tiles with the totals of all runs, each with its change since the previous period. The tile of the first token is
 * left out if no first token was measured.
 */
export const MetricTiles = ({
  metrics: { total, previous },
  label = "Totals",
  countName = countTile,
  alerts,
}: {
  readonly metrics: Metrics;
  readonly label?: string;
  /** The name of the tile that shows the number of runs. */
  readonly countName?: string;
  /** The project and the runs whose metrics an alert can watch; absent if no alert can be created. */
  readonly alerts?:
    | {
        readonly tenantId: string;
        readonly projectId: string;
        readonly scope: string;
        readonly filter: string | undefined;
      }
    | undefined;
}) => (
  <Tiles label={label}>
    {tiles
      .map(({ read, ...tile }) => ({
        ...tile,
        value: read(total),
        previousValue: read(previous),
      }))
      .filter(
        ({ name, value, previousValue }) =>
          name !== firstTokenTile || value !== undefined || previousValue !== undefined,
      )
      .map(
        ({
          name,
          figure,
          format,
          formatChange: describeChange = formatChange,
          value,
          previousValue,
        }) => (
          <Tile
            key={name}
            name={name === countTile ? countName : name}
            value={value === undefined ? undefined : format(value)}
            change={describeChange(value, previousValue)}
            action={
              alerts && (
                <AlertLink
                  address={alerts}
                  selection={{ scope: alerts.scope, filter: alerts.filter, figure }}
                  subject={name}
                />
              )
            }
          />
        ),
      )}
  </Tiles>
);

/** The name of the tile that may be left out: only streamed runs, and traces that contain one, have a first token. */
const firstTokenTile = "p50 first token";
