import type { ReactNode } from "react";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../../components/time/time.ts";
import type { TraceRunDetails } from "../queries.ts";
import { formatSide } from "./run-cost.ts";
import type { RunCost } from "./run-cost.ts";
import { isBackwards } from "../trace-model.ts";
import type { TraceView } from "../use-trace-view.ts";
import { CostText } from "./cost-text.tsx";

/** The times of a run (start, duration, self time and others), its token usage and its cost. */
export const TimingTab = ({
  details: run,
  view: { model, facts, fullRange, path },
  runIndex: index,
}: {
  readonly details: TraceRunDetails;
  readonly view: Pick<TraceView, "model" | "facts" | "fullRange" | "path">;
  readonly runIndex: number;
}) => {
  const selfMicros = facts?.selfTimes[index];
  const criticalMicros = path.get(index)?.reduce((sum, { from, to }) => sum + to - from, 0);
  const parent = model.parents[index] ?? -1;
  const isEarly = parent >= 0 && (model.starts[index] ?? 0) < (model.starts[parent] ?? 0);
  const offsetMicros = (model.starts[index] ?? 0) - fullRange.from;
  const rows: readonly (readonly [string, ReactNode])[] = [
    ["Start", formatTime(run.startMs)],
    ["Offset from trace start", formatDuration(Math.max(0, offsetMicros) / 1_000)],
    ["End", run.endMs === undefined ? "Running" : formatTime(run.endMs)],
    [
      "Duration",
      run.endMs === undefined ? "" : formatDuration(Math.max(0, run.endMs - run.startMs)),
    ],
    ["Self time", selfMicros === undefined ? "" : formatDuration(selfMicros / 1_000)],
    [
      "On the critical path",
      criticalMicros === undefined ? "" : formatDuration(criticalMicros / 1_000),
    ],
    [
      "Time to first token",
      run.firstTokenMs === undefined
        ? ""
        : formatDuration(Math.max(0, run.firstTokenMs - run.startMs)),
    ],
    ["Descendants", Math.max(0, (model.subtreeSizes[index] ?? 1) - 1).toLocaleString("en")],
    ["Prompt tokens", formatCount(run.tokens.prompt)],
    ["Completion tokens", formatCount(run.tokens.completion)],
    ["Total tokens", formatCount(run.tokens.total)],
    ["Prompt cost", formatSide(run.cost.prompt, run.cost.promptParts)],
    ["Completion cost", formatSide(run.cost.completion, run.cost.completionParts)],
    ["Cost", hasCost(run.cost) ? <CostText key="cost" cost={run.cost} /> : ""],
    ["Price", run.cost.price === undefined ? "" : toVisibleText(run.cost.price)],
    ["Run ID", <code key="id">{run.id}</code>],
    ["Trace ID", <code key="trace">{run.traceId}</code>],
    ["Reference example", run.referenceExampleId ?? ""],
  ];
  return (
    <>
      {isBackwards(model, index) && <p className="absent">End precedes start (clock skew)</p>}
      {isEarly && <p className="absent">Start precedes the parent's start (clock skew)</p>}
      <dl className="times">
        {rows
          .filter(([, value]) => value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </>
  );
};

const hasCost = ({ total, unknownReason }: RunCost): boolean =>
  total !== undefined || unknownReason !== undefined;

const formatCount = (count: number): string => (count === 0 ? "" : count.toLocaleString("en"));
