import { Chart } from "../../components/chart/chart.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import type { CompareSearch } from "./compare-search.ts";
import { colorOf, nameOf } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparedKey, ComparisonPage } from "./comparison.ts";
import { formatScore, formatWinRate } from "./score-change.ts";
import { ScoreMark } from "./score-mark.tsx";

/** What the experiments come to: by key means, wins against the baseline, and how scores spread. */
export const CompareSummary = ({
  context,
  page,
  search,
}: {
  readonly context: ComparisonContext;
  readonly page: ComparisonPage;
  readonly search: CompareSearch;
}) => {
  const charted = page.keys.find(({ key }) => key === search.key) ?? page.keys[0];
  return (
    <div className="compare-summary">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is in reach of the keyboard */}
      <section className="compare-totals" tabIndex={0} aria-label="Totals">
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
              <th scope="col">Latency</th>
              <th scope="col">Runs</th>
            </tr>
          </thead>
          <tbody>
            {context.ids.map((id) => (
              <TotalsRow key={id} id={id} context={context} page={page} />
            ))}
          </tbody>
        </table>
      </section>
      {charted !== undefined && charted.max > charted.min && (
        <Spread context={context} of={charted} />
      )}
    </div>
  );
};

const TotalsRow = ({
  id,
  context,
  page,
}: {
  readonly id: string;
  readonly context: ComparisonContext;
  readonly page: ComparisonPage;
}) => {
  const totals = page.experiments.find((one) => one.id === id);
  const isBaseline = id === context.baselineId;
  return (
    <tr>
      <th scope="row">
        <span className="experiment-label" style={{ borderColor: `var(${colorOf(context, id)})` }}>
          {nameOf(context, id)}
        </span>
        {isBaseline && <span className="tag">baseline</span>}
      </th>
      {page.keys.map(({ key, experiments }) => {
        const own = experiments[id];
        return (
          <td key={key}>
            <ScoreMark
              score={own?.mean}
              baseline={isBaseline ? undefined : experiments[context.baselineId]?.mean}
              isLowerBetter={context.lower.has(key)}
            />
            {!isBaseline && own !== undefined && <Wins {...own} />}
          </td>
        );
      })}
      <td className={(totals?.errorCount ?? 0) > 0 ? "bad" : ""}>{totals?.errorCount ?? 0}</td>
      <td>{totals?.latencyMs === undefined ? "–" : formatDuration(totals.latencyMs)}</td>
      <td>{totals?.runCount ?? 0}</td>
    </tr>
  );
};

const Wins = ({
  better,
  worse,
  same,
}: {
  readonly better: number;
  readonly worse: number;
  readonly same: number;
}) => (
  <span className="wins" title="Against the baseline, by example">
    {`${better} better, ${worse} worse, ${same} same · wins ${formatWinRate(better, worse)}`}
  </span>
);

/** How many examples got a score in each tenth of what the key spans. */
const Spread = ({
  context,
  of,
}: {
  readonly context: ComparisonContext;
  readonly of: ComparedKey;
}) => {
  const { min, max, key, experiments } = of;
  const tenth = (max - min) / 10;
  return (
    <div className="compare-chart">
      <Chart
        label={`${toVisibleText(key)}: examples by score`}
        at={Array.from({ length: 10 }, (_, index) => min + (index + 0.5) * tenth)}
        range={[min, max]}
        scale="number"
        height={120}
        format={formatScore}
        series={context.ids.map((id) => ({
          label: nameOf(context, id),
          color: colorOf(context, id),
          values: experiments[id]?.bins ?? [],
        }))}
      />
      <p className="unseen">
        {context.ids
          .map((id) => `${nameOf(context, id)}: ${pluralize(experiments[id]?.count ?? 0, "score")}`)
          .join(", ")}
      </p>
    </div>
  );
};
