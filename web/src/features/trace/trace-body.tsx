import { useCallback, useMemo, useRef, useState } from "react";
import { Minimap } from "./minimap.tsx";
import type { KnownTrace } from "./queries.ts";
import { RunPanel } from "./run-panel/run-panel.tsx";
import type { TimeWindow } from "./time-scale.ts";
import { TraceList } from "./trace-list.tsx";
import { TraceTools } from "./trace-tools.tsx";
import { useTraceAddress } from "./use-trace-address.ts";
import { useTraceKeys } from "./use-trace-keys.ts";
import { formatZoom, useTraceView } from "./use-trace-view.ts";
import { closedAbove, stepIn } from "./visible-runs.ts";

/** What there is to see of a trace with runs. */
export const TraceBody = ({
  trace,
  traceId,
  runId,
}: {
  readonly trace: KnownTrace;
  readonly traceId: string;
  readonly runId: string;
}) => {
  const { model } = trace;
  const { search, change } = useTraceAddress();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const view = useTraceView(trace, traceId, { search, closed });
  const searchRef = useRef<HTMLInputElement>(null);
  const selected = model.indexById.get(runId) ?? model.order[0] ?? 0;
  const { whole, matches, facts } = view;
  const onSelect = useCallback(
    (run: number) => {
      const id = model.ids[run];
      change({ run: id === traceId ? undefined : id });
      const above = closedAbove(model, run, closed);
      if (above.length > 0) {
        setClosed(new Set([...closed].filter((known) => !above.includes(known))));
      }
    },
    [model, traceId, change, closed],
  );
  const onFold = (run: number): void => {
    const id = model.ids[run] ?? "";
    const next = new Set(closed);
    if (!next.delete(id)) {
      next.add(id);
    }
    setClosed(next);
  };
  const onWindow = useCallback(
    (window: TimeWindow) => change({ zoom: formatZoom(window, whole) }),
    [change, whole],
  );
  const steps = useMemo(
    () => ({ match: matches, error: facts?.errors ?? [], slow: facts?.slowest ?? [] }),
    [matches, facts],
  );
  const onStep = (kind: keyof typeof steps, by: 1 | -1): void => {
    const places = steps[kind];
    // The slowest come by their rank, the others as they stand in the tree.
    const rank = places.indexOf(selected);
    const next =
      kind === "slow"
        ? places[(rank + by + places.length) % Math.max(1, places.length)]
        : stepIn(model, places, { from: selected, by });
    if (next !== undefined) {
      onSelect(next);
    }
  };
  useTraceKeys({ view, search, selected, searchRef, change, onStep, onWindow });
  return (
    <div className="trace-body">
      <TraceTools
        view={view}
        search={search}
        selected={selected}
        searchRef={searchRef}
        change={change}
        onStep={onStep}
        onWhole={() => onWindow(whole)}
      />
      <Minimap view={view} onWindow={onWindow} />
      <div className="trace">
        <TraceList
          view={view}
          selected={selected}
          closed={closed}
          closedTypes={search.close}
          find={search.find ?? ""}
          onSelect={onSelect}
          onFold={onFold}
          onWindow={onWindow}
        />
        <RunPanel
          runId={model.ids[selected] ?? runId}
          view={view}
          run={selected}
          search={search}
          change={change}
        />
      </div>
    </div>
  );
};
