import { memo } from "react";
import { PayloadText } from "../../datasets/examples/example-columns.tsx";
import { ComparedOutput } from "./compared-output.tsx";
import { getExperimentColor, getExperimentName } from "./comparison-context.ts";
import type { ComparisonContext } from "./comparison-context.ts";
import type { ComparedRow } from "./comparison.ts";

interface CompareRowProps {
  readonly context: ComparisonContext;
  readonly row: ComparedRow;
  readonly index: number;
  /** The position and the height of the row, in pixels. */
  readonly offsetTop: number;
  readonly height: number;
  /** Indexes of the first and the last experiment whose cells are rendered. */
  readonly first: number;
  readonly last: number;
  /** Whether the cells are below each other, each with the name of its experiment. */
  readonly isStacked: boolean;
  readonly isOpen: boolean;
  readonly onOpen: (exampleId: string) => void;
}

/** One example: its inputs and reference outputs, then the outputs of the experiments whose columns are visible. */
export const CompareRow = memo(
  ({
    context,
    row,
    index,
    offsetTop,
    height,
    first,
    last,
    isStacked,
    isOpen,
    onOpen,
  }: CompareRowProps) => (
    <tr
      className="compare-row"
      aria-rowindex={index + 2}
      data-open={isOpen || undefined}
      style={{ height, transform: `translateY(${offsetTop}px)` }}
    >
      <td aria-colindex={1}>
        <button type="button" className="compare-open" onClick={() => onOpen(row.exampleId)}>
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
      {context.experimentIds.slice(first, last + 1).map((id, offset) => (
        <td
          key={id}
          aria-colindex={first + offset + 2}
          style={isStacked ? undefined : { gridColumn: first + offset + 2 }}
        >
          {isStacked && (
            <div className="compare-title">
              <ExperimentName context={context} experimentId={id} />
            </div>
          )}
          <ComparedOutput context={context} row={row} experimentId={id} />
        </td>
      ))}
    </tr>
  ),
);

/** The name of an experiment with its color, and whether it is the baseline. */
export const ExperimentName = ({
  context,
  experimentId,
}: {
  readonly context: ComparisonContext;
  readonly experimentId: string;
}) => (
  <>
    <span
      className="experiment-label"
      style={{ borderColor: `var(${getExperimentColor(context, experimentId)})` }}
    >
      {getExperimentName(context, experimentId)}
    </span>
    {experimentId === context.baselineId && <span className="tag">baseline</span>}
  </>
);
