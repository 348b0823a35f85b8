import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import { toNextRow } from "../keyboard/next-row.ts";

/** The action that a key triggers in a table. */
export type TableStep =
  | { readonly kind: "none" }
  | { readonly kind: "move"; readonly to: number; readonly isRange: boolean }
  | { readonly kind: "toggle"; readonly isRange: boolean }
  | { readonly kind: "clear" };

const none: TableStep = { kind: "none" };
const aliases: Readonly<Record<string, string>> = { j: "ArrowDown", k: "ArrowUp" };

/** Converts a key event to an action. If there is one, the event's default action and propagation are stopped. */
export function handleTableKey(
  event: KeyboardEvent,
  {
    current,
    count,
    rowHeight,
  }: { readonly current: number | undefined; readonly count: number; readonly rowHeight: number },
): TableStep {
  const isTyping =
    event.target instanceof HTMLElement &&
    event.target.matches("input[type=text], textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return none;
  }
  const step = toTableStep(event.key, {
    current,
    count,
    page: toPage(event.currentTarget, rowHeight),
  });
  if (step.kind === "none") {
    return none;
  }
  event.preventDefault();
  event.stopPropagation();
  return step.kind === "clear" ? step : { ...step, isRange: event.shiftKey };
}

function toTableStep(
  key: string,
  at: { readonly current: number | undefined; readonly count: number; readonly page: number },
): TableStep {
  const lower = key.length === 1 ? key.toLowerCase() : key;
  if (lower === "x") {
    return { kind: "toggle", isRange: false };
  }
  if (lower === "Escape") {
    return { kind: "clear" };
  }
  const to = toNextRow(aliases[lower] ?? lower, { ...at, current: at.current ?? -1 });
  return to === undefined || at.count === 0 ? none : { kind: "move", to, isRange: false };
}

const toPage = (scroller: EventTarget | null, rowHeight: number): number =>
  scroller instanceof HTMLElement
    ? Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 2)
    : 1;

/** Listens for keys on the scrolling element of the table, whichever element in it has the focus. */
export function useTableKeys(
  scroller: RefObject<HTMLElement | null>,
  onKey: (event: KeyboardEvent) => void,
): void {
  const latest = useRef(onKey);
  useEffect(() => {
    latest.current = onKey;
  });
  useEffect(() => {
    const element = scroller.current;
    const onKeyDown = (event: KeyboardEvent): void => latest.current(event);
    element?.addEventListener("keydown", onKeyDown);
    return () => element?.removeEventListener("keydown", onKeyDown);
  }, [scroller]);
}

/** Focuses a row. A row that is out of view is rendered only after the table has scrolled to it. */
export function focusRow(scroller: HTMLElement | null, index: number): void {
  const find = (): HTMLElement | null =>
    scroller?.querySelector<HTMLElement>(
      // A row with a link has the focusable element in it; a row without a link is focusable itself.
      `[data-index="${index}"] [data-row-focus], [data-index="${index}"][data-row-focus]`,
    ) ?? null;
  const row = find();
  if (row !== null) {
    row.focus({ preventScroll: true });
    return;
  }
  // The row was out of view: it is rendered after the table has scrolled there.
  requestAnimationFrame(() => requestAnimationFrame(() => find()?.focus({ preventScroll: true })));
}
