import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import { findNextRow } from "../keyboard/next-row.ts";

/** The action that a key triggers in a table. */
export type TableAction =
  | { readonly kind: "none" }
  | { readonly kind: "move"; readonly to: number; readonly isRange: boolean }
  | { readonly kind: "toggle"; readonly isRange: boolean }
  | { readonly kind: "clear" };

const noAction: TableAction = { kind: "none" };
const keyAliases: Readonly<Record<string, string>> = { j: "ArrowDown", k: "ArrowUp" };

/** Converts a key event to an action. If there is one, the event's default action and propagation are stopped. */
export function handleTableKey(
  event: KeyboardEvent,
  {
    current,
    count,
    rowHeight,
  }: { readonly current: number | undefined; readonly count: number; readonly rowHeight: number },
): TableAction {
  const isTyping =
    event.target instanceof HTMLElement &&
    event.target.matches("input[type=text], textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return noAction;
  }
  const action = toTableAction(event.key, {
    current,
    count,
    pageSize: countRowsPerPage(event.currentTarget, rowHeight),
  });
  if (action.kind === "none") {
    return noAction;
  }
  event.preventDefault();
  event.stopPropagation();
  return action.kind === "clear" ? action : { ...action, isRange: event.shiftKey };
}

function toTableAction(
  key: string,
  position: {
    readonly current: number | undefined;
    readonly count: number;
    readonly pageSize: number;
  },
): TableAction {
  const normalizedKey = key.length === 1 ? key.toLowerCase() : key;
  if (normalizedKey === "x") {
    return { kind: "toggle", isRange: false };
  }
  if (normalizedKey === "Escape") {
    return { kind: "clear" };
  }
  const to = findNextRow(keyAliases[normalizedKey] ?? normalizedKey, {
    ...position,
    current: position.current ?? -1,
  });
  return to === undefined || position.count === 0 ? noAction : { kind: "move", to, isRange: false };
}

const countRowsPerPage = (scroller: EventTarget | null, rowHeight: number): number =>
  scroller instanceof HTMLElement
    ? Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 2)
    : 1;

/** Listens for keys on the scrolling element of the table, whichever element in it has the focus. */
export function useTableKeys(
  scroller: RefObject<HTMLElement | null>,
  onKey: (event: KeyboardEvent) => void,
): void {
  const latestOnKey = useRef(onKey);
  useEffect(() => {
    latestOnKey.current = onKey;
  });
  useEffect(() => {
    const element = scroller.current;
    const onKeyDown = (event: KeyboardEvent): void => latestOnKey.current(event);
    element?.addEventListener("keydown", onKeyDown);
    return () => element?.removeEventListener("keydown", onKeyDown);
  }, [scroller]);
}

/** Focuses a row. A row that is out of view is rendered only after the table has scrolled to it. */
export function focusRow(scroller: HTMLElement | null, index: number): void {
  const findRow = (): HTMLElement | null =>
    scroller?.querySelector<HTMLElement>(
      // A row with a link has the focusable element in it; a row without a link is focusable itself.
      `[data-index="${index}"] [data-row-focus], [data-index="${index}"][data-row-focus]`,
    ) ?? null;
  const row = findRow();
  if (row !== null) {
    row.focus({ preventScroll: true });
    return;
  }
  // Wait two frames: the table renders the row only after it has scrolled to it.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => findRow()?.focus({ preventScroll: true })),
  );
}
