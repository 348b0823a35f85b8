import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Empty } from "../../components/page/states.tsx";
import { PayloadText } from "../datasets/examples/example-columns.tsx";
import { ComparedOutput } from "./compared-output.tsx";
import { getExperimentColor, getExperimentName } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparedRow } from "./comparison.ts";

/** The height of a row whose scores fit into one line. A row with more lines is taller. */
const estimatedRowHeight = 132;
/** The next page is requested when this many rows remain below the visible ones. */
const prefetchRows = 5;

/** A virtual table with one row per example: its inputs and reference outputs, then each experiment's output. */
export const CompareRows = ({
  context,
  rows,
  openId,
  onOpen,
  hasMore,
  onMore,
}: {
  readonly context: ComparisonContext;
  readonly rows: readonly ComparedRow[];
  readonly openId: string | undefined;
  readonly onOpen: (exampleId: string) => void;
  readonly hasMore: boolean;
  readonly onMore: () => void;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedRowHeight,
    measureElement: (element: HTMLElement) => Math.max(estimatedRowHeight, element.offsetHeight),
    overscan: 4,
  });
  const virtualItems = virtualizer.getVirtualItems();
  const isNearEnd = hasMore && (virtualItems.at(-1)?.index ?? -1) >= rows.length - prefetchRows;
  useEffect(() => {
    if (isNearEnd) {
      onMore();
    }
  });
  if (rows.length === 0) {
    return <Empty title="No matching examples" />;
  }
  const tracks = `minmax(220px, 1fr) repeat(${context.experimentIds.length}, minmax(220px, 1fr))`;
  return (
    <div className="compare-rows" ref={scroller}>
      <table
        aria-label="Compared examples"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        style={{
          ["--tracks" as string]: tracks,
          minWidth: 220 * (context.experimentIds.length + 1),
        }}
      >
        <thead>
          <tr className="compare-row">
            <th scope="col">Inputs and reference outputs</th>
            {context.experimentIds.map((id) => (
              <th key={id} scope="col">
                <span
                  className="experiment-label"
                  style={{ borderColor: `var(${getExperimentColor(context, id)})` }}
                >
                  {getExperimentName(context, id)}
                </span>
                {id === context.baselineId && <span className="tag">baseline</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ height: virtualizer.getTotalSize() }}>
          {virtualItems.map(({ index, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <tr
                key={row.exampleId}
                className="compare-row"
                aria-rowindex={index + 2}
                data-index={index}
                data-open={row.exampleId === openId || undefined}
                ref={virtualizer.measureElement}
                style={{ minHeight: estimatedRowHeight, transform: `translateY(${start}px)` }}
              >
                <td>
                  <button
                    type="button"
                    className="compare-open"
                    onClick={() => onOpen(row.exampleId)}
                  >
                    {row.example === undefined ? (
                      `Deleted example ${row.exampleId}`
                    ) : (
                      <PayloadText preview={row.example.inputs} />
                    )}
                  </button>
                  <div className="compare-output compare-reference">
                    <PayloadText preview={row.example?.outputs} />
                  </div>
                </td>
                {context.experimentIds.map((id) => (
                  <td key={id}>
                    <ComparedOutput context={context} row={row} experimentId={id} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
};
