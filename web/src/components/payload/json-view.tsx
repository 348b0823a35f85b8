import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useMemo, useRef, useState, useCallback } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { findNextRow } from "../keyboard/next-row.ts";
import { JsonLine } from "./json-line.tsx";
import { JsonTools } from "./json-tools.tsx";
import type { JsonRow } from "./json-tree.ts";
import { LocalPayload } from "./payload-source.ts";
import type { PayloadSource } from "./payload-source.ts";
import { readLatestValue, useAsyncValue } from "./use-async-value.ts";
import "./json-view.css";

const estimatedLineHeight = 21;
const rowsPerPage = 15;
/** A value with at most this many lines shows its tools only while the pointer or the focus is in it. */
const maxShortRows = 15;

/**
 * A JSON value of any size as a collapsible tree that renders only the lines in view. Keys: the arrows move,
 * expand and collapse; Enter toggles; `/` focuses the search.
 */
export const JsonView = ({
  value,
  ...options
}: {
  /** Any JSON value, or a {@link PayloadSource}. */
  readonly value: unknown;
  readonly label: string;
  /** In pixels. @defaultValue 420 */
  readonly maxHeight?: number;
}) => {
  const source = useMemo(() => toSource(value), [value]);
  // A new React key for each value resets the expanded lines and the search results.
  return <SourceView key={getSourceKey(source)} source={source} {...options} />;
};

const SourceView = ({
  source,
  label,
  maxHeight = 420,
}: {
  readonly source: PayloadSource;
  readonly label: string;
  readonly maxHeight?: number;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const [currentIndex, setCurrentIndex] = useState(0);
  const [query, setQuery] = useState("");
  const rows = useJsonRows(source);
  const id = useId();
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedLineHeight,
    // In a hidden panel the browser does not lay out the lines, so their `offsetHeight` is 0.
    measureElement: (element: HTMLElement) => Math.max(estimatedLineHeight, element.offsetHeight),
    overscan: 10,
  });
  const virtualItems = virtualizer.getVirtualItems();
  const [first, last] = [virtualItems[0]?.index ?? 0, virtualItems.at(-1)?.index ?? 0];
  const { onView, onChange } = rows;
  useEffect(() => onView(first, last), [first, last, onView]);
  // Scrolling to a newly revealed line works only after the line count has been updated.
  useEffect(() => {
    if (currentIndex < rows.count) {
      virtualizer.scrollToIndex(currentIndex, { align: "auto" });
    }
  }, [currentIndex, rows.count, virtualizer]);
  const onToggle = async (index: number): Promise<void> => {
    await source.toggle(index);
    onChange();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const position = { current: currentIndex, count: rows.count, pageSize: rowsPerPage };
    const nextIndex = findNextRow(event.key, position);
    const isOpen = rows.getRow(currentIndex)?.isOpen;
    const isToggle =
      (event.key === "Enter" && isOpen !== undefined) ||
      (event.key === "ArrowRight" && isOpen === false) ||
      (event.key === "ArrowLeft" && isOpen === true);
    if (nextIndex !== undefined) {
      setCurrentIndex(nextIndex);
    } else if (isToggle) {
      void onToggle(currentIndex);
    } else if (event.key === "/") {
      search.current?.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = ({ target }: MouseEvent): void => {
    const element = target instanceof Element ? target : undefined;
    const index = Number(element?.closest<HTMLElement>("[data-index]")?.dataset["index"]);
    if (Number.isInteger(index)) {
      setCurrentIndex(index);
      if (element?.closest("[data-toggle]") !== null && rows.getRow(index)?.isOpen !== undefined) {
        void onToggle(index);
      }
    }
  };
  return (
    <div className="json-view" data-short={rows.count <= maxShortRows || undefined}>
      <JsonTools
        source={source}
        currentIndex={currentIndex}
        searchRef={search}
        onChange={onChange}
        onFound={setCurrentIndex}
        onQuery={setQuery}
      />
      {rows.error !== undefined && <p className="json-failure">{rows.error.message}</p>}
      <div
        className="json-lines"
        ref={scroller}
        role="tree"
        aria-label={label}
        aria-activedescendant={`${id}-${currentIndex}`}
        tabIndex={0}
        style={{ maxHeight }}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <div className="rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
          {virtualItems.map(({ index, start }) => (
            <JsonLine
              key={index}
              id={`${id}-${index}`}
              index={index}
              row={rows.getRow(index)}
              query={query}
              isCurrent={index === currentIndex}
              offsetTop={start}
              measure={virtualizer.measureElement}
            />
          ))}
        </div>
      </div>
    </div>
  );
};

/** Wraps plain JSON in a {@link LocalPayload}; returns a {@link PayloadSource} unchanged. */
export const toSource = (value: unknown): PayloadSource =>
  isSource(value) ? value : new LocalPayload(value);

/** A plain object is never a source, because it is recorded data, which may have a member named `readRows`. */
const isSource = (value: unknown): value is PayloadSource =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) !== Object.prototype &&
  "readRows" in value &&
  typeof value.readRows === "function";

const sourceKeys = new WeakMap<PayloadSource, number>();
let lastSourceKey = 0;

function getSourceKey(source: PayloadSource): number {
  const existing = sourceKeys.get(source);
  if (existing !== undefined) {
    return existing;
  }
  lastSourceKey += 1;
  sourceKeys.set(source, lastSourceKey);
  return lastSourceKey;
}

/** A contiguous part of the rows, from the row with index `from`. */
interface RowWindow {
  readonly from: number;
  readonly rows: readonly JsonRow[];
}

/** Rows are read in blocks of this size, so that most scroll steps need no new rows. */
const blockRows = 100;

/** The number of lines of a value, and the lines around those in view. */
interface JsonRows {
  readonly count: number;
  readonly getRow: (index: number) => JsonRow | undefined;
  /** Must be called with the first and the last line in view. */
  readonly onView: (first: number, last: number) => void;
  /** Must be called after lines were expanded or collapsed. */
  readonly onChange: () => void;
  readonly error: Error | undefined;
}

function useJsonRows(source: PayloadSource): JsonRows {
  const [version, setVersion] = useState(0);
  const [block, setBlock] = useState({ from: 0, to: blockRows * 2 });
  // oxlint-disable-next-line react/exhaustive-deps -- `version` changes when lines are expanded or collapsed
  const count = useAsyncValue(useMemo(() => source.countRows(), [source, version]));
  const rowsOrPromise = useMemo(() => {
    const { from, to } = block;
    const rows = source.readRows(from, to);
    const toWindow = (windowRows: readonly JsonRow[]): RowWindow => ({ from, rows: windowRows });
    return rows instanceof Promise ? rows.then(toWindow) : toWindow(rows);
    // oxlint-disable-next-line react/exhaustive-deps -- `version` changes when lines are expanded or collapsed
  }, [source, version, block]);
  const state = useAsyncValue(rowsOrPromise);
  // Keep showing the previous rows until the next rows arrive, which avoids flicker.
  const loadedRows = readLatestValue(state);
  const onView = useCallback((first: number, last: number) => {
    const from = Math.max(0, Math.floor(first / blockRows) - 1) * blockRows;
    const to = (Math.floor(last / blockRows) + 2) * blockRows;
    setBlock((current) => (current.from === from && current.to === to ? current : { from, to }));
  }, []);
  return {
    count: readLatestValue(count) ?? 0,
    getRow: (index) => loadedRows?.rows[index - loadedRows.from],
    onView,
    onChange: useCallback(() => setVersion((current) => current + 1), []),
    error: state.kind === "failed" ? state.error : undefined,
  };
}
