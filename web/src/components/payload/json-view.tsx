import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useMemo, useRef, useState, useCallback } from "react";
import type { KeyboardEvent, MouseEvent } from "react";
import { toNextRow } from "../keyboard/next-row.ts";
import { JsonLine } from "./json-line.tsx";
import { JsonTools } from "./json-tools.tsx";
import type { JsonRow } from "./json-tree.ts";
import { LocalPayload } from "./payload-source.ts";
import type { PayloadSource } from "./payload-source.ts";
import { latestValue, useAsyncValue } from "./use-async-value.ts";
import "./json-view.css";

const estimatedHeight = 21;
const pageRows = 15;

/**
 * A JSON value of any size as a list that opens and closes; only the lines in view exist. Keys: the
 * arrows move, open and close; Enter opens; `/` searches.
 */
export const JsonView = ({
  value,
  ...rest
}: {
  /** Any JSON, or a {@link PayloadSource}. */
  readonly value: unknown;
  readonly label: string;
  /** Pixels. @defaultValue 420 */
  readonly maxHeight?: number;
}) => {
  const source = useMemo(() => toSource(value), [value]);
  // What was open and found of one value means nothing for the next.
  return <SourceView key={keyOf(source)} source={source} {...rest} />;
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
  const [current, setCurrent] = useState(0);
  const [query, setQuery] = useState("");
  const rows = useJsonRows(source);
  const id = useId();
  // oxlint-disable-next-line react/incompatible-library -- its functions are not memoized here
  const virtualizer = useVirtualizer({
    count: rows.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedHeight,
    // A line that is not laid out, in a panel that is hidden, has no height.
    measureElement: (element: HTMLElement) => Math.max(estimatedHeight, element.offsetHeight),
    overscan: 10,
  });
  const items = virtualizer.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  const { onView, onChange } = rows;
  useEffect(() => onView(first, last), [first, last, onView]);
  // A line that was just revealed exists once the count includes it.
  useEffect(() => {
    if (current < rows.count) {
      virtualizer.scrollToIndex(current, { align: "auto" });
    }
  }, [current, rows.count, virtualizer]);
  const onToggle = async (index: number): Promise<void> => {
    await source.toggle(index);
    onChange();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const position = { current, count: rows.count, page: pageRows };
    const next = toNextRow(event.key, position);
    const isOpen = rows.rowAt(current)?.isOpen;
    const isToggle =
      (event.key === "Enter" && isOpen !== undefined) ||
      (event.key === "ArrowRight" && isOpen === false) ||
      (event.key === "ArrowLeft" && isOpen === true);
    if (next !== undefined) {
      setCurrent(next);
    } else if (isToggle) {
      void onToggle(current);
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
      setCurrent(index);
      if (element?.closest("[data-toggle]") !== null && rows.rowAt(index)?.isOpen !== undefined) {
        void onToggle(index);
      }
    }
  };
  return (
    <div className="json-view">
      <JsonTools
        source={source}
        current={current}
        searchRef={search}
        onChange={onChange}
        onFound={setCurrent}
        onQuery={setQuery}
      />
      {rows.error !== undefined && <p className="json-failure">{rows.error.message}</p>}
      <div
        className="json-lines"
        ref={scroller}
        role="tree"
        aria-label={label}
        aria-activedescendant={`${id}-${current}`}
        tabIndex={0}
        style={{ maxHeight }}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <div className="rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
          {items.map(({ index, start }) => (
            <JsonLine
              key={index}
              id={`${id}-${index}`}
              index={index}
              row={rows.rowAt(index)}
              query={query}
              isCurrent={index === current}
              start={start}
              measure={virtualizer.measureElement}
            />
          ))}
        </div>
      </div>
    </div>
  );
};

/** A value that is read already, or one that can be read. */
export const toSource = (value: unknown): PayloadSource =>
  isSource(value) ? value : new LocalPayload(value);

/** Of ours alone: what a run holds is plain data, whatever its members are called. */
const isSource = (value: unknown): value is PayloadSource =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) !== Object.prototype &&
  "rows" in value &&
  typeof value.rows === "function";

const keys = new WeakMap<PayloadSource, number>();
let lastKey = 0;

function keyOf(source: PayloadSource): number {
  const known = keys.get(source);
  if (known !== undefined) {
    return known;
  }
  lastKey += 1;
  keys.set(source, lastKey);
  return lastKey;
}

interface Window {
  readonly from: number;
  readonly rows: readonly JsonRow[];
}

/** Rows are read so many at a time: a step of the scroll then mostly finds them there. */
const blockRows = 100;

/** How many lines a value has, and those around the ones in view. */
interface JsonRows {
  readonly count: number;
  readonly rowAt: (index: number) => JsonRow | undefined;
  /** Must be called with what is in view. */
  readonly onView: (first: number, last: number) => void;
  /** After anything was opened or closed. */
  readonly onChange: () => void;
  readonly error: Error | undefined;
}

function useJsonRows(source: PayloadSource): JsonRows {
  const [version, setVersion] = useState(0);
  const [block, setBlock] = useState({ from: 0, to: blockRows * 2 });
  // oxlint-disable-next-line react/exhaustive-deps -- asked anew when the value was opened or closed
  const count = useAsyncValue(useMemo(() => source.count(), [source, version]));
  const answer = useMemo(() => {
    const { from, to } = block;
    const rows = source.rows(from, to);
    const toWindow = (found: readonly JsonRow[]): Window => ({ from, rows: found });
    return rows instanceof Promise ? rows.then(toWindow) : toWindow(rows);
    // oxlint-disable-next-line react/exhaustive-deps -- as above
  }, [source, version, block]);
  const state = useAsyncValue(answer);
  // What was there before stays until the next is here, so that nothing flickers.
  const window = latestValue(state);
  const onView = useCallback((first: number, end: number) => {
    const from = Math.max(0, Math.floor(first / blockRows) - 1) * blockRows;
    const to = (Math.floor(end / blockRows) + 2) * blockRows;
    setBlock((known) => (known.from === from && known.to === to ? known : { from, to }));
  }, []);
  return {
    count: latestValue(count) ?? 0,
    rowAt: (index) => window?.rows[index - window.from],
    onView,
    onChange: useCallback(() => setVersion((known) => known + 1), []),
    error: state.kind === "failed" ? state.error : undefined,
  };
}
