import { memo, useMemo } from "react";
import { Chart } from "../../../components/chart/chart.tsx";
import { createCostFormat } from "../../../components/text/cost.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration } from "../../../components/time/time.ts";
import { ExperimentName } from "./compare-row.tsx";
import { getExperimentColor, getExperimentName } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparedKey, ComparisonPage } from "./comparison.ts";
import type { Experiment } from "../experiment.ts";
import { formatScore, formatWinRate } from "../score-change.ts";
import { toScoreBars } from "../score-bars.ts";
import { ScoreMark } from "../score-mark.tsx";

/**
 * Totals of the experiments: mean scores, wins against the baseline, latency, tokens and cost, and a chart of the score
 * distribution.
 */
export const CompareSummary = memo(
  ({
    context,
    page,
    statistics,
    chartedName,
  }: {
    readonly context: ComparisonContext;
    readonly page: ComparisonPage;
    /** Statistics by experiment id. */
    readonly statistics: ReadonlyMap<string, Experiment>;
    /** The feedback key whose scores the chart shows. @defaultValue the first key */
    readonly chartedName: string | undefined;
  }) => {
    const chartedKey = page.keys.find(({ key }) => key === chartedName) ?? page.keys[0];
    const formatCost = createCostFormat([...statistics.values()].flatMap(({ cost }) => cost ?? []));
    return (
      <div className="compare-summary">
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the table */}
        <section className="compare-totals" tabIndex={0} aria-label="Summary by experiment">
          <table>
            <thead>
              <tr>
                <th scope="col">Experiment</th>
                {page.keys.map(({ key }) => (
                  <th key={key} scope="col">
                    {toVisibleText(key)}
                  </th>
                ))}
                <th scope="col">Errors</th>
                <th scope="col">p50 latency</th>
                <th scope="col">Tokens</th>
                <th scope="col">Cost</th>
                <th scope="col">Runs</th>
              </tr>
            </thead>
            <tbody>
              {context.experimentIds.map((id) => (
                <TotalsRow
                  key={id}
                  experimentId={id}
                  context={context}
                  page={page}
                  statistics={statistics.get(id)}
                  formatCost={formatCost}
                />
              ))}
            </tbody>
          </table>
        </section>
        {chartedKey !== undefined && chartedKey.max > chartedKey.min && (
          <ScoreDistribution context={context} comparedKey={chartedKey} />
        )}
      </div>
    );
  },
);

const TotalsRow = ({
  experimentId,
  context,
  page,
  statistics,
  formatCost,
}: {
  readonly experimentId: string;
  readonly context: ComparisonContext;
  readonly page: ComparisonPage;
  /** Absent until they are loaded. */
  readonly statistics: Experiment | undefined;
  readonly formatCost: (cost: number) => string;
}) => {
  const { latencyP50Ms, tokens = 0, cost } = statistics ?? {};
  const totals = page.experiments.find((experiment) => experiment.id === experimentId);
  const isBaseline = experimentId === context.baselineId;
  return (
    <tr>
      <th scope="row">
        <ExperimentName context={context} experimentId={experimentId} />
      </th>
      {page.keys.map(({ key, experiments }) => {
        const summary = experiments[experimentId];
        return (
          <td key={key} data-title={toVisibleText(key)}>
            <ScoreMark
              score={summary?.mean}
              baseline={isBaseline ? undefined : experiments[context.baselineId]?.mean}
              isLowerBetter={context.lowerIsBetterKeys.has(key)}
            />
            {!isBaseline && summary !== undefined && <WinCounts {...summary} />}
          </td>
        );
      })}
      <td className={(totals?.errorCount ?? 0) > 0 ? "bad" : ""} data-title="Errors">
        {(totals?.errorCount ?? 0).toLocaleString("en")}
      </td>
      <td data-title="p50 latency">
        {latencyP50Ms === undefined ? "–" : formatDuration(latencyP50Ms)}
      </td>
      <td data-title="Tokens">{tokens === 0 ? "–" : tokens.toLocaleString("en")}</td>
      <td data-title="Cost">{cost === undefined ? "–" : formatCost(cost)}</td>
      <td data-title="Runs">{(totals?.runCount ?? 0).toLocaleString("en")}</td>
    </tr>
  );
};

const WinCounts = ({
  better,
  worse,
  same,
}: {
  readonly better: number;
  readonly worse: number;
  readonly same: number;
}) =>
  // Without an example that both experiments scored, there is nothing to count.
  better + worse + same === 0 ? null : (
    <span className="wins" title="Examples compared with the baseline">
      {`${better.toLocaleString("en")} better, ${worse.toLocaleString("en")} worse, ${same.toLocaleString("en")} same · ${formatWinRate(better, worse)} win rate`}
    </span>
  );

/** The number of equal parts of the score range in which the server counts the scores. */
const binCount = 10;

/** A chart of the number of examples in each tenth of the key's score range. */
const ScoreDistribution = ({
  context,
  comparedKey,
}: {
  readonly context: ComparisonContext;
  readonly comparedKey: ComparedKey;
}) => {
  const { min, max, key, experiments } = comparedKey;
  const bars = useMemo(
    () =>
      toScoreBars(
        context.experimentIds.map((id) => ({ bins: experiments[id]?.bins ?? [] })),
        { min, max, binCount },
      ),
    [context.experimentIds, experiments, min, max],
  );
  return (
    <div className="compare-chart">
      <Chart
        label={`${toVisibleText(key)}: examples by score`}
        positions={bars.positions}
        range={[min, max]}
        scale="number"
        height={120}
        format={formatScore}
        series={context.experimentIds.map((id, index) => ({
          label: getExperimentName(context, id),
          color: getExperimentColor(context, id),
          kind: "bars",
          values: bars.values[index] ?? [],
          total: experiments[id]?.count ?? 0,
        }))}
      />
      <p className="unseen">
        {context.experimentIds
          .map(
            (id) =>
              `${getExperimentName(context, id)}: ${pluralize(experiments[id]?.count ?? 0, "score")}`,
          )
          .join(", ")}
      </p>
    </div>
  );
};
