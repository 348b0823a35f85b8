import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { RunSummary } from "../../lib/run.ts";
import { formatDuration, formatTime } from "../../lib/time.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { RunTypeMark, StatusMark } from "../marks.tsx";
import type { Place } from "./place.ts";

const rowHeight = 36;
/** Rows before the end at which the next page is asked for. */
const readAhead = 30;

/** Runs as a table of which only the rows in view exist. */
export const RunTable = ({
  runs,
  place,
  isComplete,
  onTop,
  onEnd,
}: {
  readonly runs: readonly RunSummary[];
  readonly place: Place;
  readonly isComplete: boolean;
  /** Called when the first row comes into view or leaves it. */
  readonly onTop: (isAtTop: boolean) => void;
  /** Called when the last row comes near; may be called again for the same row. */
  readonly onEnd: () => void;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- its functions are not memoized here
  const virtualizer = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => runs[index]?.id ?? index,
    overscan: 12,
  });
  const items = virtualizer.getVirtualItems();
  const isNearEnd = (items.at(-1)?.index ?? 0) >= runs.length - readAhead;
  const isAtTop = (virtualizer.scrollOffset ?? 0) < rowHeight;
  useEffect(() => onTop(isAtTop), [isAtTop, onTop]);
  useEffect(() => {
    if (isNearEnd && !isComplete) {
      onEnd();
    }
  });
  return (
    <div className="scroller" ref={scroller}>
      <table aria-rowcount={isComplete ? runs.length + 1 : -1}>
        <thead>
          <tr className="run-row" aria-rowindex={1}>
            {["Name", "Type", "Status", "Start", "Latency", "Error"].map((title) => (
              <th key={title} scope="col" className={`cell-${title.toLowerCase()}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="rows" style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const run = runs[index];
            return run === undefined ? null : (
              <tr
                key={key}
                className="run-row"
                aria-rowindex={index + 2}
                style={{ height: rowHeight, transform: `translateY(${start}px)` }}
              >
                <RunCells run={run} place={place} />
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
};

const RunCells = ({ run, place }: { readonly run: RunSummary; readonly place: Place }) => (
  <>
    <td className="cell-name">
      <Link
        to="/o/$tenantId/projects/p/$projectId"
        params={{ ...place }}
        search={{ trace: run.traceId }}
      >
        {toVisibleText(run.name)}
      </Link>
    </td>
    <td className="cell-type">
      <RunTypeMark type={run.runType} />
    </td>
    <td className="cell-status">
      <StatusMark status={run.status} />
    </td>
    <td className="cell-start">{formatTime(run.startMs)}</td>
    <td className="cell-latency">
      {run.endMs === undefined ? "" : formatDuration(run.endMs - run.startMs)}
    </td>
    <td className="cell-error">{toVisibleText(run.errorLine ?? "")}</td>
  </>
);
