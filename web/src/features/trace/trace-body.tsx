import { useCallback, useMemo, useRef, useState } from "react";
import { SplitView } from "../../components/page/split-view.tsx";
import { Minimap } from "./minimap.tsx";
import type { LoadedTrace, TraceSource } from "./queries.ts";
import { RunPanel } from "./run-panel/run-panel.tsx";
import type { TimeWindow } from "./time-scale.ts";
import { TraceList } from "./trace-list.tsx";
import type { TraceSearch } from "./trace-search.ts";
import { TraceTools } from "./trace-tools.tsx";
import type { TraceChange } from "./use-trace-address.ts";
import { useTraceKeys } from "./use-trace-keys.ts";
import { formatZoom, useTraceView } from "./use-trace-view.ts";
import { findCollapsedAncestors, findNextRun } from "./visible-runs.ts";

/** A trace with fewer runs has no minimap, because the tree shows all of its runs at once. */
const minMinimapRuns = 10;

/** The body of a trace that has at least one run: toolbar, minimap, tree and run panel. */
export const TraceBody = ({
  source,
  trace,
  traceId,
  runId,
  search,
  change,
}: {
  readonly source: TraceSource;
  readonly trace: LoadedTrace;
  readonly traceId: string;
  readonly runId: string;
  /** The state of the trace in the URL. */
  readonly search: TraceSearch;
  readonly change: (change: TraceChange) => void;
}) => {
  const { model } = trace;
  const [collapsedIds, setCollapsedIds] = useState<ReadonlySet<string>>(new Set());
  /** The slow run that was selected last with the key or the button for the next or previous slowest run. */
  const [lastSlowRun, setLastSlowRun] = useState<number>();
  const view = useTraceView(trace, traceId, { source, search, collapsedIds });
  const searchRef = useRef<HTMLInputElement>(null);
  const selectedRun = model.indexById.get(runId) ?? model.order[0] ?? 0;
  const { fullRange, matches, facts } = view;
  const onSelect = useCallback(
    (run: number) => {
      const id = model.ids[run];
      change({ run: id === traceId ? undefined : id });
      const collapsedAncestors = findCollapsedAncestors(model, run, collapsedIds);
      if (collapsedAncestors.length > 0) {
        setCollapsedIds(
          new Set(
            [...collapsedIds].filter((collapsedId) => !collapsedAncestors.includes(collapsedId)),
          ),
        );
      }
    },
    [model, traceId, change, collapsedIds],
  );
  const onFold = (run: number): void => {
    const id = model.ids[run] ?? "";
    const newCollapsedIds = new Set(collapsedIds);
    if (!newCollapsedIds.delete(id)) {
      newCollapsedIds.add(id);
    }
    setCollapsedIds(newCollapsedIds);
  };
  const onWindow = useCallback(
    (window: TimeWindow) => change({ zoom: formatZoom(window, fullRange) }),
    [change, fullRange],
  );
  const runsByKind = useMemo(
    () => ({ match: matches, error: facts?.errors ?? [], slow: facts?.slowest ?? [] }),
    [matches, facts],
  );
  const onStep = (kind: keyof typeof runsByKind, by: 1 | -1): void => {
    const runs = runsByKind[kind];
    // The slowest runs are visited from slowest to fastest, other runs in the order of the tree. If the selected run
    // was not reached by such a step, a step forward leads to the first of the slowest runs and a step back to the
    // last, even if the selected run is one of them, such as the root of a trace that was just opened.
    const rank = selectedRun === lastSlowRun ? runs.indexOf(selectedRun) : Math.min(0, -by);
    const nextRun =
      kind === "slow"
        ? runs[(rank + by + runs.length) % Math.max(1, runs.length)]
        : findNextRun(model, runs, { from: selectedRun, by });
    if (nextRun !== undefined) {
      if (kind === "slow") {
        setLastSlowRun(nextRun);
      }
      onSelect(nextRun);
    }
  };
  useTraceKeys({ view, search, selectedRun, searchRef, change, onStep, onWindow });
  return (
    <div className="trace-body">
      <TraceTools
        view={view}
        search={search}
        selectedRun={selectedRun}
        searchRef={searchRef}
        change={change}
        onStep={onStep}
        onResetZoom={() => onWindow(fullRange)}
      />
      {model.count >= minMinimapRuns && <Minimap view={view} onWindow={onWindow} />}
      <SplitView name="trace" label="Width of the tree" className="trace">
        <TraceList
          view={view}
          selectedRun={selectedRun}
          collapsedIds={collapsedIds}
          collapsedTypesText={search.close}
          searchText={search.find ?? ""}
          onSelect={onSelect}
          onFold={onFold}
          onWindow={onWindow}
        />
        <RunPanel
          runId={model.ids[selectedRun] ?? runId}
          view={view}
          runIndex={selectedRun}
          search={search}
          change={change}
          source={source}
        />
      </SplitView>
    </div>
  );
};
