import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef } from "react";
import { useRouterLinks } from "../../../components/page/router-links.ts";
import { Empty } from "../../../components/page/states.tsx";
import { toRowHeight } from "./compare-layout.ts";
import { CompareRow, ExperimentName } from "./compare-row.tsx";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparedRow } from "./comparison.ts";
import { useVisibleColumns } from "./use-visible-columns.ts";

/** The next page is requested when this many rows remain below the visible ones. */
const prefetchRows = 10;

interface CompareRowsProps {
  readonly context: ComparisonContext;
  readonly rows: readonly ComparedRow[];
  readonly openId: string | undefined;
  /** Pass the same function at each render; otherwise all rows are rendered again. */
  readonly onOpen: (exampleId: string) => void;
  readonly hasMore: boolean;
  readonly onMore: () => void;
}

/**
 * A table with one row per example: its inputs and reference outputs, then each experiment's output. Only the visible
 * rows are rendered, and in them only the visible columns.
 */
export const CompareRows = (props: CompareRowsProps) =>
  props.rows.length === 0 ? <Empty title="No matching examples" /> : <CompareTable {...props} />;

const CompareTable = ({ context, rows, openId, onOpen, hasMore, onMore }: CompareRowsProps) => {
  const scroller = useRef<HTMLDivElement>(null);
  const { experimentIds } = context;
  const count = experimentIds.length;
  const { isStacked, widths, first, last, scoresPerLine } = useVisibleColumns(scroller, count);
  // When this function changes, the virtualizer computes the heights of all rows again.
  const getItemKey = useCallback(
    (index: number) => `${isStacked} ${scoresPerLine} ${rows[index]?.exampleId}`,
    [rows, isStacked, scoresPerLine],
  );
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.length,
    getItemKey,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => {
      const row = rows[index];
      return row === undefined ? 0 : toRowHeight(row, { experimentIds, isStacked, scoresPerLine });
    },
    overscan: 4,
  });
  const virtualItems = virtualizer.getVirtualItems();
  const isNearEnd = hasMore && (virtualItems.at(-1)?.index ?? -1) >= rows.length - prefetchRows;
  useEffect(() => {
    if (isNearEnd) {
      onMore();
    }
  });
  const openLink = useRouterLinks();
  return (
    <div
      className="compare-rows"
      data-stacked={isStacked || undefined}
      ref={scroller}
      style={{ ["--first-column" as string]: `${isStacked ? 0 : widths.first}px` }}
    >
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- it handles the clicks of the links in its cells, which Enter also causes */}
      <table
        aria-label="Compared examples"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-colcount={count + 1}
        style={{
          ["--tracks" as string]: isStacked
            ? "minmax(0, 1fr)"
            : `minmax(var(--first-column), 1fr) repeat(${count}, minmax(${widths.others}px, 1fr))`,
          ["--scores-per-line" as string]: scoresPerLine,
          minWidth: isStacked ? undefined : widths.first + widths.others * count,
        }}
        onClick={openLink}
      >
        <thead>
          <tr className="compare-row" aria-rowindex={1}>
            <th scope="col" aria-colindex={1}>
              Inputs and reference outputs
            </th>
            {experimentIds.slice(first, last + 1).map((id, offset) => (
              <th
                key={id}
                scope="col"
                aria-colindex={first + offset + 2}
                style={{ gridColumn: first + offset + 2 }}
              >
                <ExperimentName context={context} experimentId={id} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ height: virtualizer.getTotalSize() }}>
          {virtualItems.map(({ index, start, size }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <CompareRow
                key={row.exampleId}
                context={context}
                row={row}
                index={index}
                offsetTop={start}
                height={size}
                first={first}
                last={last}
                isStacked={isStacked}
                isOpen={row.exampleId === openId}
                onOpen={onOpen}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
};
