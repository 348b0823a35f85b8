import { useRef } from "react";
import type { PointerEvent } from "react";
import { boundWidth, moveColumn } from "./column-layout.ts";
import type { ColumnLayout } from "./column-layout.ts";
import type { Column, Sort } from "./data-table-columns.ts";
import type { RowSelection } from "./row-selection.ts";

interface Props<Row> {
  readonly rows: readonly Row[];
  readonly rowId: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  readonly layout: ColumnLayout;
  readonly onLayout?: (layout: ColumnLayout) => void;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly selection: RowSelection;
}

/** The titles: a click sorts, dragging one moves it, dragging its edge widens it. */
export const DataTableHead = <Row extends object>(props: Props<Row>) => {
  const { rows, rowId, columns, layout, onLayout, selection } = props;
  const count = Object.keys(selection.state).length;
  const ids = columns.map(({ id }) => id);
  const move = (id: string, before: string): void =>
    ids.includes(id) ? onLayout?.(moveColumn(layout, ids, { id, before })) : undefined;
  return (
    <thead className="data-head">
      <tr className="data-row" aria-rowindex={1}>
        {selection.isOn && (
          <th scope="col" className="data-cell data-check">
            <input
              type="checkbox"
              aria-label="Select all rows that are loaded"
              checked={count > 0 && count >= rows.length}
              ref={(box) => {
                if (box !== null) {
                  box.indeterminate = count > 0 && count < rows.length;
                }
              }}
              onChange={() => selection.set(new Set(count > 0 ? [] : rows.map(rowId)))}
            />
          </th>
        )}
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            className="data-cell"
            data-column={column.id}
            data-align={column.align}
            title={column.note}
            aria-sort={toAriaSort(column, props.sort)}
          >
            <Title {...props} column={column} onMove={move} />
            {onLayout !== undefined && (
              <Edge
                onWidth={(width) =>
                  onLayout({ ...layout, widths: { ...layout.widths, [column.id]: width } })
                }
              />
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
};

/** The text of a title: a button, which sorts where the column can be sorted by, and can be dragged. */
const Title = <Row extends object>({
  column,
  sort,
  onSort,
  onLayout,
  onMove,
}: Pick<Props<Row>, "sort" | "onSort" | "onLayout"> & {
  readonly column: Column<Row>;
  readonly onMove: (id: string, before: string) => void;
}) => {
  const canSort = column.sort !== undefined && onSort !== undefined;
  if (!canSort && onLayout === undefined) {
    return <span className="data-title">{column.title}</span>;
  }
  const order = sort?.column === column.id ? sort.order : undefined;
  const other = order === "asc" ? "desc" : "asc";
  return (
    <button
      type="button"
      className="data-title"
      data-sorts={canSort || undefined}
      data-order={order}
      draggable={onLayout !== undefined}
      onDragStart={(event) => event.dataTransfer.setData("text/plain", column.id)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        onMove(event.dataTransfer.getData("text/plain"), column.id);
      }}
      onClick={() => {
        if (canSort) {
          onSort({
            column: column.id,
            order: order === undefined ? (column.sort ?? "desc") : other,
          });
        }
      }}
    >
      {column.title}
    </button>
  );
};

/** The right edge of a title, which can be dragged to set the width of the column. */
const Edge = ({ onWidth }: { readonly onWidth: (width: number) => void }) => {
  const from = useRef<{ readonly x: number; readonly width: number }>(undefined);
  const widthAt = (event: PointerEvent): number | undefined =>
    from.current && boundWidth(from.current.width + event.clientX - from.current.x);
  return (
    <span
      className="data-edge"
      aria-hidden="true"
      onPointerDown={(event) => {
        const width = event.currentTarget.parentElement?.getBoundingClientRect().width ?? 0;
        from.current = { x: event.clientX, width };
        event.currentTarget.setPointerCapture(event.pointerId);
        event.stopPropagation();
      }}
      onPointerMove={(event) => {
        const width = widthAt(event);
        if (width !== undefined) {
          onWidth(width);
        }
      }}
      onPointerUp={() => {
        from.current = undefined;
      }}
    />
  );
};

function toAriaSort<Row extends object>(
  { id, sort: sorts }: Column<Row>,
  sort: Sort | undefined,
): "ascending" | "descending" | "none" | undefined {
  if (sorts === undefined) {
    return undefined;
  }
  if (sort?.column !== id) {
    return "none";
  }
  return sort.order === "asc" ? "ascending" : "descending";
}
