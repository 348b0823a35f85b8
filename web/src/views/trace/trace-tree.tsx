import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { toNextRow } from "../../lib/next-row.ts";
import type { TraceRow, TraceRows } from "../../lib/trace-rows.ts";
import { formatDuration } from "../../lib/time.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { RunTypeMark } from "../marks.tsx";

const rowHeight = 32;
const indent = 14;
/** Deeper runs are indented no further: their names would not be seen. */
const deepestIndent = 16;
const pageRows = 10;

/** The tree of a trace and its bars on one time scale, as one list of which only the rows in view exist. */
export const TraceTree = ({
  trace: { rows },
  selectedId,
  onSelect,
}: {
  readonly trace: TraceRows;
  readonly selectedId: string;
  readonly onSelect: (runId: string) => void;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- its functions are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const selected = rows.findIndex(({ run }) => run.id === selectedId);
  useEffect(() => {
    if (selected >= 0) {
      virtualizer.scrollToIndex(selected, { align: "auto" });
    }
  }, [selected, virtualizer]);
  useEffect(() => scroller.current?.focus({ preventScroll: true }), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const place = { current: selected, count: rows.length, page: pageRows };
    const next = rows[toNextRow(event.key, place) ?? -1];
    if (next !== undefined) {
      event.preventDefault();
      onSelect(next.run.id);
    }
  };
  const onClick = ({ target }: MouseEvent): void => {
    const line = target instanceof Element ? target.closest<HTMLElement>("[data-run]") : null;
    if (line?.dataset["run"] !== undefined) {
      onSelect(line.dataset["run"]);
    }
  };
  return (
    <div
      className="scroller tree"
      ref={scroller}
      role="tree"
      aria-label="Runs of the trace"
      aria-activedescendant={`run-${selectedId}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <div className="rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={row.run.id}
              id={`run-${row.run.id}`}
              className="tree-row"
              role="treeitem"
              aria-level={row.depth + 1}
              aria-selected={index === selected}
              style={{ height: rowHeight, transform: `translateY(${start}px)` }}
              data-run={row.run.id}
            >
              <TreeCells row={row} />
            </div>
          );
        })}
      </div>
    </div>
  );
};

const TreeCells = ({
  row: { run, depth, offset, share, durationMs },
}: {
  readonly row: TraceRow;
}) => (
  <>
    <span className="tree-name" style={{ paddingLeft: Math.min(depth, deepestIndent) * indent }}>
      <RunTypeMark type={run.runType} />
      <bdi className="name">{toVisibleText(run.name)}</bdi>
      {run.status === "error" && <span className="error-mark">Error</span>}
    </span>
    <span className="tree-bar" aria-hidden="true">
      <span
        className="bar-fill"
        data-type={run.runType}
        data-status={run.status}
        style={{ left: `${offset * 100}%`, width: `${share * 100}%` }}
      />
    </span>
    <span className="tree-time">
      {run.status === "pending" ? "running" : formatDuration(durationMs)}
    </span>
  </>
);
