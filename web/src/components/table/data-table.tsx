import { useMediaQuery } from "@mantine/hooks";
import {
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useCallback,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { ReactNode } from "react";
import { useListKeys } from "../keyboard/list-keys.ts";
import { Empty, Failure, Loading } from "../page/states.tsx";
import { defaultLayout, toColumnOrder } from "./column-layout.ts";
import type { ColumnLayout } from "./column-layout.ts";
import { toTracks } from "./data-table-columns.ts";
import type { Column, Sort } from "./data-table-columns.ts";
import { DataTableHead } from "./data-table-head.tsx";
import { handleTableKey, focusRow, useTableKeys } from "./data-table-keys.ts";
import { useRowClicks } from "./row-clicks.ts";
import { DataTableRow } from "./data-table-row.tsx";
import type { RowLinkProps } from "./data-table-row.tsx";
import { useRowSelection } from "./row-selection.ts";
import { readSavedPosition, useSavedPosition } from "./table-position.ts";
import type { SavedPosition } from "./table-position.ts";
import "./data-table.css";

export type { Column, Sort } from "./data-table-columns.ts";
export type { RowLinkProps } from "./data-table-row.tsx";

export interface DataTableProps<Row> {
  /** The listed resources, in the plural: "runs". */
  readonly resourceName: string;
  /** `undefined` until the first response. */
  readonly rows: readonly Row[] | undefined;
  readonly getRowId: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** From `useColumnLayout`. @defaultValue the default layout */
  readonly layout?: ColumnLayout;
  readonly onLayout?: (layout: ColumnLayout) => void;
  /**
   * Renders the row's link, which contains the first column: `(row, linkProps) => <Link to=… {...linkProps} />`. A
   * click or a middle click anywhere in the row, and Enter, open the link.
   */
  readonly renderLink?: (row: Row, linkProps: RowLinkProps) => ReactNode;
  /**
   * Whether a row that appears has just arrived: its background then fades in. Pass the same function at each render.
   */
  readonly isFresh?: (row: Row) => boolean;
  /** The id of the row whose details are open next to the table. */
  readonly openId?: string | undefined;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly selection?: ReadonlySet<string>;
  readonly onSelection?: (ids: ReadonlySet<string>) => void;
  /** Whether the server has more rows than those that are loaded. */
  readonly hasMore?: boolean;
  /** Called to load more rows when the user scrolls near the last one; may be called again for the same rows. */
  readonly onLoadMore?: () => void;
  /** Called when the first row comes into view or leaves the view. */
  readonly onTopChange?: (isAtTop: boolean) => void;
  readonly error?: Error | null;
  readonly onRetry?: () => unknown;
  /**
   * Renders additional lines of a row on narrow screens, which have no space for most columns. Pass the same function
   * at each render.
   */
  readonly renderNarrowDetail?: (row: Row) => ReactNode;
  /** The height of the lines that `renderNarrowDetail` renders, in pixels. @defaultValue 36, which are two lines */
  readonly narrowDetailHeight?: number;
  /** Shown if there are no rows. */
  readonly emptyState?: ReactNode;
  /** Shown after the last row. */
  readonly footer?: ReactNode;
  /** Keeps the scroll position and the focused row while another view replaces the table. */
  readonly savedPosition?: SavedPosition;
}

const enabledFeatures = tableFeatures({
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  rowSelectionFeature,
});

const lineRowHeight = 36;
/** In a row with a narrow detail, the height of the part above the detail, in pixels. */
const detailHeadHeight = 40;
/** The number of rows below the view at which more rows are loaded. */
const readAheadRows = 30;
const narrowMediaQuery = "(max-width: 760px)";

/**
 * A virtual table, which renders only the rows in view. While it has the focus: j, k, the arrows, Page Up and
 * Down, Home and End move between rows, Enter opens a row, x selects it, Shift extends the selection to a
 * range, and Escape clears the selection.
 */
export const DataTable = <Row extends object>(props: DataTableProps<Row>) => {
  const { resourceName, error = null, onRetry, emptyState } = props;
  // Rendering the rows of a response takes longer than a frame. As a deferred value, it is interrupted for input.
  const rows = useDeferredValue(props.rows);
  if (rows === undefined) {
    return error === null ? (
      <Loading resourceName={resourceName} />
    ) : (
      <Failure
        resourceName={`the ${resourceName}`}
        error={error}
        onRetry={onRetry ?? (() => undefined)}
      />
    );
  }
  return rows.length === 0 && props.hasMore !== true ? (
    (emptyState ?? <Empty title={`No ${resourceName}`} />)
  ) : (
    <FilledTable {...props} rows={rows} />
  );
};

const FilledTable = <Row extends object>(
  props: DataTableProps<Row> & { readonly rows: readonly Row[] },
) => {
  const {
    rows,
    getRowId,
    columns,
    layout = defaultLayout,
    resourceName,
    hasMore = false,
    onLoadMore,
    error,
    narrowDetailHeight = 36,
  } = props;
  const isNarrow = useMediaQuery(narrowMediaQuery, false);
  const renderDetail = isNarrow ? props.renderNarrowDetail : undefined;
  const rowHeight =
    renderDetail === undefined ? lineRowHeight : detailHeadHeight + narrowDetailHeight;
  const selection = useRowSelection(props);
  useListKeys({ canOpen: props.renderLink !== undefined, canSelect: selection.isEnabled });
  const table = useTable({
    features: enabledFeatures,
    data: rows,
    columns: useTableColumns(columns),
    getRowId,
    state: {
      columnOrder: toColumnOrder(
        columns.map(({ id }) => id),
        layout,
      ),
      columnSizing: { ...layout.widths },
      columnVisibility: Object.fromEntries(
        columns.map((column) => [column.id, isColumnShown(column, layout, isNarrow)]),
      ),
      rowSelection: selection.state,
    },
  });
  const visibleColumns = useColumnsById(
    columns,
    table.getVisibleLeafColumns().map(({ id }) => id),
  );
  const [currentIndex, setCurrentIndex] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const [initialOffset] = useState(() => readSavedPosition(props.savedPosition)?.scrollTop ?? 0);
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : getRowId(row);
    },
    overscan: 6,
    scrollPaddingStart: lineRowHeight,
    initialOffset,
  });
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const currentRow = currentIndex === undefined ? undefined : rows[currentIndex];
  useSavedPosition(props.savedPosition, scroller, {
    scrollTop: virtualizer.scrollOffset ?? 0,
    rowId: currentRow && getRowId(currentRow),
    findIndex: (rowId) => rows.findIndex((row) => getRowId(row) === rowId),
  });
  useTableKeys(scroller, (event) => {
    const action = handleTableKey(event, { current: currentIndex, count: rows.length, rowHeight });
    if (action.kind === "move") {
      virtualizer.scrollToIndex(action.to);
      focusRow(scroller.current, action.to);
      setCurrentIndex(action.to);
    }
    selection.onKey(action, { current: currentIndex, ids: () => rows.map(getRowId) });
  });
  useRowClicks(scroller);
  const virtualItems = virtualizer.getVirtualItems();
  useScrollEnds({
    // Do not repeat the request after an error. The user can click "Try again".
    isNearEnd:
      hasMore && !error && (virtualItems.at(-1)?.index ?? -1) >= rows.length - readAheadRows,
    isAtTop: (virtualizer.scrollOffset ?? 0) < rowHeight / 2,
    onLoadMore,
    onTopChange: props.onTopChange,
  });
  const tracks = toTracks(visibleColumns, { layout, hasSelection: selection.isEnabled, isNarrow });
  const tableRows = table.getRowModel().rows;
  const toggle = useLatest((index: number, isRange: boolean) => {
    const row = rows[index];
    if (row !== undefined) {
      selection.toggle(getRowId(row), { isRange, ids: () => rows.map(getRowId) });
    }
  });
  return (
    <div className="data-table" ref={scroller}>
      <table
        aria-label={resourceName}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-colcount={visibleColumns.length + (selection.isEnabled ? 1 : 0)}
        className="data-table-grid"
        style={{ ...tracks, ["--detail-height" as string]: `${narrowDetailHeight}px` }}
      >
        <DataTableHead {...props} columns={visibleColumns} layout={layout} selection={selection} />
        <tbody className="data-rows" style={{ height: virtualizer.getTotalSize() }}>
          {virtualItems.map(({ index, key, start }) => {
            const row = tableRows[index];
            return row === undefined ? null : (
              <DataTableRow
                key={key}
                row={row.original}
                index={index}
                offsetTop={start}
                columns={visibleColumns}
                renderLink={props.renderLink}
                renderDetail={renderDetail}
                isCurrent={index === (currentIndex ?? 0)}
                isOpen={props.openId !== undefined && props.openId === row.id}
                isFresh={props.isFresh}
                isSelected={selection.isEnabled ? row.getIsSelected() : undefined}
                onFocus={setCurrentIndex}
                onToggle={toggle}
              />
            );
          })}
        </tbody>
      </table>
      {hasMore && error && (
        <Failure
          resourceName={`more ${resourceName}`}
          error={error}
          onRetry={onLoadMore ?? (() => undefined)}
        />
      )}
      {props.footer}
    </div>
  );
};

/** Returns the columns with these ids: the same array as long as the columns and the ids are the same. */
function useColumnsById<Row extends object>(
  columns: readonly Column<Row>[],
  ids: readonly string[],
): readonly Column<Row>[] {
  const idsJson = JSON.stringify(ids);
  return useMemo(() => {
    const byId = new Map(columns.map((column) => [column.id, column]));
    return (JSON.parse(idsJson) as readonly string[]).flatMap((id) => byId.get(id) ?? []);
  }, [columns, idsJson]);
}

/** Returns a function that stays the same, and calls the latest version of the callback. */
function useLatest<Parameters extends readonly unknown[]>(
  callback: (...parameters: Parameters) => void,
): (...parameters: Parameters) => void {
  const latest = useRef(callback);
  useLayoutEffect(() => {
    latest.current = callback;
  });
  return useCallback((...parameters) => latest.current(...parameters), []);
}

function isColumnShown<Row extends object>(
  column: Column<Row>,
  layout: ColumnLayout,
  isNarrow: boolean,
): boolean {
  if (isNarrow) {
    return column.isShownWhenNarrow === true;
  }
  return column.isFixed === true || (layout.shown[column.id] ?? column.isShown !== false);
}

/** Returns the column definitions for the table library: the same array as long as `columns` is the same array. */
function useTableColumns<Row extends object>(columns: readonly Column<Row>[]) {
  const [cached, setCached] = useState(() => ({ columns, definitions: toDefinitions(columns) }));
  if (cached.columns !== columns) {
    const newCache = { columns, definitions: toDefinitions(columns) };
    setCached(newCache);
    return newCache.definitions;
  }
  return cached.definitions;
}

const toDefinitions = <Row extends object>(columns: readonly Column<Row>[]) =>
  columns.map(({ id, width }) => ({ id, size: width }));

/** Calls `onTopChange` when the table reaches or leaves its top, and `onLoadMore` when its end is near. */
function useScrollEnds({
  isNearEnd,
  isAtTop,
  onLoadMore,
  onTopChange,
}: {
  readonly isNearEnd: boolean;
  readonly isAtTop: boolean;
  readonly onLoadMore: (() => void) | undefined;
  readonly onTopChange: ((isAtTop: boolean) => void) | undefined;
}): void {
  useEffect(() => onTopChange?.(isAtTop), [isAtTop, onTopChange]);
  useEffect(() => {
    if (isNearEnd) {
      onLoadMore?.();
    }
  });
}
