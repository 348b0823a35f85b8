import { memo, useState } from "react";
import type { ReactNode } from "react";
import type { Column } from "./data-table-columns.ts";

/** The props to pass to the link that a row contains. */
export interface RowLinkProps {
  readonly className: string;
  readonly tabIndex: number;
  readonly "data-row-focus": true;
  readonly children: ReactNode;
}

interface DataTableRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  /** The distance in pixels from the top of the first row to the top of this row. */
  readonly offsetTop: number;
  readonly columns: readonly Column<Row>[];
  readonly renderLink: ((row: Row, linkProps: RowLinkProps) => ReactNode) | undefined;
  /** Renders additional lines of the row. */
  readonly renderDetail: ((row: Row) => ReactNode) | undefined;
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  /** `undefined` if rows can't be selected. */
  readonly isSelected: boolean | undefined;
  readonly isFresh: ((row: Row) => boolean) | undefined;
  readonly onFocus: (index: number) => void;
  readonly onToggle: (index: number, isRange: boolean) => void;
}

const PlainRow = <Row extends object>(props: DataTableRowProps<Row>) => {
  const { row, index, offsetTop, columns, renderLink, renderDetail, isCurrent } = props;
  const { isOpen, isSelected } = props;
  const tabIndex = isCurrent ? 0 : -1;
  // Determine this only when the row appears, so that a row that stays in view is not marked as fresh again.
  const [isFresh] = useState(() => props.isFresh?.(row) === true);
  // Without a link, the row itself is focusable.
  const isFocusable = renderLink === undefined;
  return (
    <tr
      className="data-row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-index={index}
      data-open={isOpen || undefined}
      data-row-focus={isFocusable || undefined}
      data-detailed={renderDetail !== undefined || undefined}
      data-opens={!isFocusable || undefined}
      data-fresh={isFresh || undefined}
      tabIndex={isFocusable ? tabIndex : undefined}
      style={{ transform: `translateY(${offsetTop}px)` }}
      onFocus={() => props.onFocus(index)}
    >
      {isSelected !== undefined && (
        <td className="data-cell data-check">
          <input
            type="checkbox"
            aria-label={`Select row ${index + 1}`}
            tabIndex={-1}
            checked={isSelected}
            onChange={(event) =>
              props.onToggle(index, (event.nativeEvent as Partial<MouseEvent>).shiftKey === true)
            }
          />
        </td>
      )}
      {columns.map((column, columnIndex) => (
        <td key={column.id} className="data-cell" data-column={column.id} data-align={column.align}>
          {columnIndex === 0 && renderLink !== undefined
            ? renderLink(row, {
                className: "data-link",
                tabIndex,
                "data-row-focus": true,
                children: column.renderCell(row),
              })
            : column.renderCell(row)}
        </td>
      ))}
      {renderDetail !== undefined && <td className="data-detail">{renderDetail(row)}</td>}
    </tr>
  );
};

/**
 * One row: a check box, the link in the first column, and the other cells. It is rendered again only if one of its
 * props changes. Rows that stay in view are therefore not rendered again while the user scrolls.
 */
export const DataTableRow = memo(PlainRow) as typeof PlainRow;
