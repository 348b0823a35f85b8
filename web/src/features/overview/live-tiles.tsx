import { formatCount } from "../../components/chart/chart-data.ts";
import { formatCost, formatShare, summarize } from "../../api/live-report.ts";
import type { Live } from "../../api/live-report.ts";
import { formatDuration } from "../../components/time/time.ts";

/** The last minute in numbers. */
export const LiveTiles = ({ live }: { readonly live: Live }) => {
  const { runsPerSecond, errorRate, p50Ms, p99Ms, tokens, cost } = summarize(live, 60);
  const isBad = (errorRate ?? 0) > 0;
  return (
    <dl className="tiles" aria-label="The last minute">
      <Tile name="Runs a second" value={formatCount(runsPerSecond)} />
      <Tile
        name="Traces with an error"
        value={errorRate === undefined ? "–" : formatShare(errorRate)}
        isBad={isBad}
      />
      <Tile name="Latency, median" value={p50Ms === undefined ? "–" : formatDuration(p50Ms)} />
      <Tile name="Latency, p99" value={p99Ms === undefined ? "–" : formatDuration(p99Ms)} />
      <Tile name="Tokens a minute" value={tokens === 0 ? "–" : formatCount(tokens)} />
      <Tile name="Cost a minute" value={cost === 0 ? "–" : formatCost(cost)} />
    </dl>
  );
};

const Tile = ({
  name,
  value,
  isBad = false,
}: {
  readonly name: string;
  readonly value: string;
  readonly isBad?: boolean;
}) => (
  <div className="tile">
    <dt>{name}</dt>
    <dd className={isBad ? "bad" : ""}>{value}</dd>
  </div>
);
