import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { findNextRow } from "../../components/keyboard/next-row.ts";
import { createCostFormat } from "../../components/text/cost.ts";
import { TimeRuler } from "./time-ruler.tsx";
import type { TimeWindow } from "./time-scale.ts";
import { rowHeight, TraceRow } from "./trace-row.tsx";
import { splitList } from "./trace-search.ts";
import type { TraceView } from "./use-trace-view.ts";
import { useWheelZoom } from "./use-wheel-zoom.ts";

const rowsPerPage = 15;

interface TraceListProps {
  readonly view: TraceView;
  readonly selectedRun: number;
  readonly collapsedIds: ReadonlySet<string>;
  readonly collapsedTypesText: string | undefined;
  readonly searchText: string;
  readonly onSelect: (run: number) => void;
  readonly onFold: (run: number) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

/**
 * The tree of a trace, with a bar for each run on a common time scale. It is a virtual list, which renders only the
 * rows in view.
 */
export const TraceList = (props: TraceListProps) => {
  const { view, selectedRun, onSelect, onFold, onWindow } = props;
  const { model, visibleRuns, window, fullRange } = view;
  const { runs } = visibleRuns;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const selectedRow = useMemo(() => runs.indexOf(selectedRun), [runs, selectedRun]);
  useEffect(() => {
    if (selectedRow >= 0) {
      virtualizer.scrollToIndex(selectedRow, { align: "auto" });
    }
  }, [selectedRow, virtualizer]);
  useEffect(() => scroller.current?.focus({ preventScroll: true }), []);
  useWheelZoom(scroller, { window, fullRange, onWindow });
  const isExpanded = useIsExpanded(props);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const nextRow = findNextRow(event.key, {
      current: selectedRow,
      count: runs.length,
      pageSize: rowsPerPage,
    });
    const isSelectedExpanded = isExpanded(selectedRun);
    if (nextRow !== undefined && runs[nextRow] !== undefined) {
      onSelect(runs[nextRow]);
    } else if (
      event.key === "ArrowLeft" &&
      isSelectedExpanded !== true &&
      (model.parents[selectedRun] ?? -1) >= 0
    ) {
      onSelect(model.parents[selectedRun] ?? selectedRun);
    } else if (
      (event.key === "ArrowLeft" && isSelectedExpanded === true) ||
      (event.key === "ArrowRight" && isSelectedExpanded === false) ||
      (event.key === "Enter" && isSelectedExpanded !== undefined)
    ) {
      onFold(selectedRun);
    } else {
      return;
    }
    event.preventDefault();
  };
  const onClick = ({ target }: MouseEvent): void => {
    const element = target instanceof Element ? target : undefined;
    const id = element?.closest<HTMLElement>("[data-run]")?.dataset["run"];
    const run = id === undefined ? undefined : model.indexById.get(id);
    if (run !== undefined) {
      const isFoldToggle =
        element?.closest("[data-fold]") !== null && isExpanded(run) !== undefined;
      (isFoldToggle ? onFold : onSelect)(run);
    }
  };
  return (
    <div
      className="tree-side"
      data-usage={model.tokens.size + model.costs.size > 0 || undefined}
      data-searching={props.searchText !== "" || undefined}
    >
      <TimeRuler window={window} fullRange={fullRange} onWindow={onWindow} />
      <div
        className="scroller tree"
        ref={scroller}
        role="tree"
        aria-label="Runs of the trace"
        aria-activedescendant={`run-${model.ids[selectedRun] ?? ""}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <TraceRows {...props} virtualizer={virtualizer} isExpanded={isExpanded} />
      </div>
    </div>
  );
};

/**
 * Returns a function that checks whether a run is expanded. The function returns `undefined` for a run without
 * children.
 */
function useIsExpanded({ view: { model }, collapsedIds, collapsedTypesText }: TraceListProps) {
  const types = useMemo(() => splitList(collapsedTypesText), [collapsedTypesText]);
  return (run: number): boolean | undefined =>
    (model.subtreeSizes[run] ?? 1) < 2
      ? undefined
      : !collapsedIds.has(model.ids[run] ?? "") && !types.has(model.types[run] ?? "");
}

/** Maximum number of costs that decide on the digits of all of them. A trace can have tens of thousands. */
const maxFormattedCosts = 2_000;

const TraceRows = ({
  view,
  selectedRun,
  searchText,
  virtualizer,
  isExpanded,
}: TraceListProps & {
  readonly virtualizer: ReturnType<typeof useVirtualizer<HTMLDivElement, Element>>;
  readonly isExpanded: (run: number) => boolean | undefined;
}) => {
  const { model, visibleRuns, facts, path, matches, window, now, commentCounts } = view;
  const matchingRuns = useMemo(() => new Set(matches), [matches]);
  const costs = facts?.usage.costs;
  const formatCost = useMemo(
    () =>
      createCostFormat([...(costs ?? [])].filter((cost) => cost > 0).slice(0, maxFormattedCosts)),
    [costs],
  );
  return (
    <div className="rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const run = visibleRuns.runs[index] ?? 0;
        const slowIndex = facts?.slowest.indexOf(run) ?? -1;
        return (
          <TraceRow
            key={model.ids[run]}
            model={model}
            runIndex={run}
            depth={visibleRuns.depths[index] ?? 0}
            offsetTop={start}
            now={now}
            window={window}
            isSelected={run === selectedRun}
            isExpanded={isExpanded(run)}
            slowRank={slowIndex < 0 ? undefined : slowIndex + 1}
            criticalIntervals={path.get(run)}
            tokens={facts?.usage.tokens[run] ?? 0}
            cost={facts?.usage.costs[run] ?? 0}
            formatCost={formatCost}
            commentCount={commentCounts.get(model.ids[run] ?? "") ?? 0}
            isMatch={matchingRuns.has(run)}
            searchText={searchText}
          />
        );
      })}
    </div>
  );
};
