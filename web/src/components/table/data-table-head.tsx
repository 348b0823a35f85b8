import { useRef } from "react";
import type { DragEvent, PointerEvent } from "react";
import { clampWidth, moveColumn } from "./column-layout.ts";
import type { ColumnLayout } from "./column-layout.ts";
import type { Column, Sort } from "./data-table-columns.ts";
import type { RowSelection } from "./row-selection.ts";

interface DataTableHeadProps<Row> {
  readonly rows: readonly Row[];
  readonly getRowId: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  readonly layout: ColumnLayout;
  readonly onLayout?: (layout: ColumnLayout) => void;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly selection: RowSelection;
}

/**
 * The header of the table. Clicking a title sorts, dragging it moves the column, dragging its edge resizes the column.
 */
export const DataTableHead = <Row extends object>(props: DataTableHeadProps<Row>) => {
  const { rows, getRowId, columns, layout, onLayout, selection } = props;
  const selectedCount = Object.keys(selection.state).length;
  const ids = columns.map(({ id }) => id);
  const moveBefore = (id: string, before: string): void =>
    ids.includes(id) ? onLayout?.(moveColumn(layout, ids, { id, before })) : undefined;
  return (
    <thead className="data-head">
      <tr className="data-row" aria-rowindex={1}>
        {selection.isEnabled && (
          <th scope="col" className="data-cell data-check">
            <input
              type="checkbox"
              aria-label="Select all loaded rows"
              checked={selectedCount > 0 && selectedCount >= rows.length}
              ref={(checkbox) => {
                if (checkbox !== null) {
                  checkbox.indeterminate = selectedCount > 0 && selectedCount < rows.length;
                }
              }}
              onChange={() => selection.set(new Set(selectedCount > 0 ? [] : rows.map(getRowId)))}
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
            title={column.tooltip}
            aria-sort={toAriaSort(column, props.sort)}
          >
            <ColumnTitle {...props} column={column} onMove={moveBefore} />
            {onLayout !== undefined && (
              <ResizeHandle
                onResize={(width) =>
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

/** A column title: a button if it sorts the table, else text. It can be dragged if the columns can be moved. */
const ColumnTitle = <Row extends object>({
  column,
  sort,
  onSort,
  onLayout,
  onMove,
}: Pick<DataTableHeadProps<Row>, "sort" | "onSort" | "onLayout"> & {
  readonly column: Column<Row>;
  readonly onMove: (id: string, before: string) => void;
}) => {
  const canSort = column.sort !== undefined && onSort !== undefined;
  const dragging =
    onLayout === undefined
      ? {}
      : {
          draggable: true,
          onDragStart: (event: DragEvent) => event.dataTransfer.setData("text/plain", column.id),
          onDragOver: (event: DragEvent) => event.preventDefault(),
          onDrop: (event: DragEvent) => {
            event.preventDefault();
            onMove(event.dataTransfer.getData("text/plain"), column.id);
          },
        };
  if (!canSort) {
    return (
      <span className="data-title" {...dragging}>
        {column.title}
      </span>
    );
  }
  const order = sort?.column === column.id ? sort.order : undefined;
  const reversedOrder = order === "asc" ? "desc" : "asc";
  return (
    <button
      type="button"
      className="data-title"
      data-order={order}
      {...dragging}
      onClick={() =>
        onSort({
          column: column.id,
          order: order === undefined ? (column.sort ?? "desc") : reversedOrder,
        })
      }
    >
      {column.title}
    </button>
  );
};

/** The right edge of a title, which can be dragged to resize the column. */
const ResizeHandle = ({ onResize }: { readonly onResize: (width: number) => void }) => {
  const dragStart = useRef<{ readonly x: number; readonly width: number }>(undefined);
  const computeWidth = (event: PointerEvent): number | undefined =>
    dragStart.current && clampWidth(dragStart.current.width + event.clientX - dragStart.current.x);
  return (
    <span
      className="data-edge"
      aria-hidden="true"
      onPointerDown={(event) => {
        const width = event.currentTarget.parentElement?.getBoundingClientRect().width ?? 0;
        dragStart.current = { x: event.clientX, width };
        event.currentTarget.setPointerCapture(event.pointerId);
        event.stopPropagation();
      }}
      onPointerMove={(event) => {
        const width = computeWidth(event);
        if (width !== undefined) {
          onResize(width);
        }
      }}
      onPointerUp={() => {
        dragStart.current = undefined;
      }}
    />
  );
};

function toAriaSort<Row extends object>(
  { id, sort: firstOrder }: Column<Row>,
  sort: Sort | undefined,
): "ascending" | "descending" | "none" | undefined {
  if (firstOrder === undefined) {
    return undefined;
  }
  if (sort?.column !== id) {
    return "none";
  }
  return sort.order === "asc" ? "ascending" : "descending";
}
