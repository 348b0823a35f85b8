import type { ReactNode } from "react";
import { formatDuration, formatTime } from "../../../components/time/time.ts";
import type { TraceRunDetails } from "../queries.ts";
import { isBackwards } from "../trace-model.ts";
import type { TraceView } from "../use-trace-view.ts";

/** When a run was, how long, and what of it was its own; what it used. */
export const TimingTab = ({
  details: run,
  view: { model, facts, window, path },
  run: address,
}: {
  readonly details: TraceRunDetails;
  readonly view: TraceView;
  readonly run: number;
}) => {
  const selfMicros = facts?.selfTimes[address];
  const criticalMicros = path.get(address)?.reduce((sum, { from, to }) => sum + to - from, 0);
  const parent = model.parents[address] ?? -1;
  const isEarly = parent >= 0 && (model.starts[address] ?? 0) < (model.starts[parent] ?? 0);
  const fromStart = (model.starts[address] ?? 0) - Math.min(0, window.from);
  const rows: readonly (readonly [string, ReactNode])[] = [
    ["Start", formatTime(run.startMs)],
    ["After the trace's start", formatDuration(Math.max(0, fromStart) / 1_000)],
    ["End", run.endMs === undefined ? "still running" : formatTime(run.endMs)],
    [
      "Duration",
      run.endMs === undefined ? "" : formatDuration(Math.max(0, run.endMs - run.startMs)),
    ],
    ["Own time", selfMicros === undefined ? "" : formatDuration(selfMicros / 1_000)],
    [
      "On the critical path",
      criticalMicros === undefined ? "" : formatDuration(criticalMicros / 1_000),
    ],
    [
      "To the first token",
      run.firstTokenMs === undefined
        ? ""
        : formatDuration(Math.max(0, run.firstTokenMs - run.startMs)),
    ],
    ["Runs below it", Math.max(0, (model.sizes[address] ?? 1) - 1).toLocaleString()],
    ["Prompt tokens", countOf(run.tokens.prompt)],
    ["Completion tokens", countOf(run.tokens.completion)],
    ["Total tokens", countOf(run.tokens.total)],
    ["Cost", run.cost === undefined ? "" : `$${run.cost}`],
    ["Id", <code key="id">{run.id}</code>],
    ["Trace", <code key="trace">{run.traceId}</code>],
    ["Example", run.referenceExampleId ?? ""],
  ];
  return (
    <>
      {isBackwards(model, address) && (
        <p className="absent">It ended before it began: the clocks that told so differed.</p>
      )}
      {isEarly && <p className="absent">It began before the run above it: their clocks differ.</p>}
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

const countOf = (count: number): string => (count === 0 ? "" : count.toLocaleString());
