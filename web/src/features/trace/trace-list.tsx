import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { toNextRow } from "../../components/keyboard/next-row.ts";
import { TimeRuler } from "./time-ruler.tsx";
import type { TimeWindow } from "./time-scale.ts";
import { rowHeight, TraceRow } from "./trace-row.tsx";
import { toWords } from "./trace-search.ts";
import type { TraceView } from "./use-trace-view.ts";
import { useWheelZoom } from "./use-wheel-zoom.ts";

const pageRows = 15;

interface TraceListProps {
  readonly view: TraceView;
  readonly selected: number;
  readonly closed: ReadonlySet<string>;
  readonly closedTypes: string | undefined;
  readonly find: string;
  readonly onSelect: (run: number) => void;
  readonly onFold: (run: number) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

/** The tree of a trace and its bars on one time scale, as one list of which only the rows in view exist. */
export const TraceList = (props: TraceListProps) => {
  const { view, selected, onSelect, onFold, onWindow } = props;
  const { model, visible, window, whole } = view;
  const { runs } = visible;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- its functions are not memoized here
  const virtualizer = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const row = useMemo(() => runs.indexOf(selected), [runs, selected]);
  useEffect(() => {
    if (row >= 0) {
      virtualizer.scrollToIndex(row, { align: "auto" });
    }
  }, [row, virtualizer]);
  useEffect(() => scroller.current?.focus({ preventScroll: true }), []);
  useWheelZoom(scroller, { window, whole, onWindow });
  const isOpen = useOpen(props);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const next = toNextRow(event.key, { current: row, count: runs.length, page: pageRows });
    const open = isOpen(selected);
    if (next !== undefined && runs[next] !== undefined) {
      onSelect(runs[next]);
    } else if (event.key === "ArrowLeft" && open !== true && (model.parents[selected] ?? -1) >= 0) {
      onSelect(model.parents[selected] ?? selected);
    } else if (
      (event.key === "ArrowLeft" && open === true) ||
      (event.key === "ArrowRight" && open === false) ||
      (event.key === "Enter" && open !== undefined)
    ) {
      onFold(selected);
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
      const isFold = element?.closest("[data-fold]") !== null && isOpen(run) !== undefined;
      (isFold ? onFold : onSelect)(run);
    }
  };
  return (
    <div className="tree-side">
      <TimeRuler window={window} whole={whole} onWindow={onWindow} />
      <div
        className="scroller tree"
        ref={scroller}
        role="tree"
        aria-label="Runs of the trace"
        aria-activedescendant={`run-${model.ids[selected] ?? ""}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <Rows {...props} virtualizer={virtualizer} isOpen={isOpen} />
      </div>
    </div>
  );
};

/** Whether a run is open; `undefined` where nothing is below it. */
function useOpen({ view: { model }, closed, closedTypes }: TraceListProps) {
  const types = useMemo(() => toWords(closedTypes), [closedTypes]);
  return (run: number): boolean | undefined =>
    (model.sizes[run] ?? 1) < 2
      ? undefined
      : !closed.has(model.ids[run] ?? "") && !types.has(model.types[run] ?? "");
}

const Rows = ({
  view,
  selected,
  find,
  virtualizer,
  isOpen,
}: TraceListProps & {
  readonly virtualizer: ReturnType<typeof useVirtualizer<HTMLDivElement, Element>>;
  readonly isOpen: (run: number) => boolean | undefined;
}) => {
  const { model, visible, facts, path, matches, window, now } = view;
  const found = useMemo(() => new Set(matches), [matches]);
  return (
    <div className="rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const run = visible.runs[index] ?? 0;
        const slow = facts?.slowest.indexOf(run) ?? -1;
        return (
          <TraceRow
            key={model.ids[run]}
            model={model}
            run={run}
            depth={visible.depths[index] ?? 0}
            start={start}
            now={now}
            window={window}
            isSelected={run === selected}
            isOpen={isOpen(run)}
            slow={slow < 0 ? undefined : slow + 1}
            path={path.get(run)}
            isMatch={found.has(run)}
            find={find}
          />
        );
      })}
    </div>
  );
};
