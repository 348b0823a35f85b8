import { useState } from "react";

/** What a reader made of a table's columns. Names of columns that are gone do no harm. */
export interface ColumnLayout {
  /** Ids in the order that was chosen; columns that it does not name stand behind. */
  readonly order: readonly string[];
  /** Whether a column shows, where that was chosen. */
  readonly shown: Readonly<Record<string, boolean>>;
  /** Pixels, where they were chosen. */
  readonly widths: Readonly<Record<string, number>>;
}

/** As the table's author has it. */
export const plainLayout: ColumnLayout = { order: [], shown: {}, widths: {} };

const widthMin = 48;
const widthMax = 1_600;

export const boundWidth = (width: number): number =>
  Math.round(Math.max(widthMin, Math.min(widthMax, width)));

/** Reads what was kept; what is no layout is the author's. */
export function parseColumnLayout(text: string | null): ColumnLayout {
  const value = toRecord(parseJson(text ?? ""));
  const { order, shown, widths } = value;
  return {
    order: Array.isArray(order) ? order.filter((id) => typeof id === "string") : [],
    shown: pick(shown, (one) => typeof one === "boolean"),
    widths: Object.fromEntries(
      Object.entries(
        pick(widths, (one): one is number => typeof one === "number" && Number.isFinite(one)),
      ).map(([id, width]) => [id, boundWidth(width)]),
    ),
  };
}

/** The columns in the order of a layout. */
export function toColumnOrder(ids: readonly string[], { order }: ColumnLayout): string[] {
  const known = order.filter((id) => ids.includes(id));
  // One that is new stands behind the one that its author put it behind.
  return ids.reduce<string[]>((ordered, id, index) => {
    if (!ordered.includes(id)) {
      const before = ordered.indexOf(ids[index - 1] ?? "");
      ordered.splice(before + 1, 0, id);
    }
    return ordered;
  }, known);
}

/** The layout with a column moved before another one, or to the end where none is named. */
export function moveColumn(
  layout: ColumnLayout,
  ids: readonly string[],
  { id, before }: { readonly id: string; readonly before: string | undefined },
): ColumnLayout {
  if (id === before) {
    return layout;
  }
  const rest = toColumnOrder(ids, layout).filter((one) => one !== id);
  const at = before === undefined ? rest.length : rest.indexOf(before);
  return { ...layout, order: rest.toSpliced(at === -1 ? rest.length : at, 0, id) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Nothing was kept, or by something else: the author's layout counts.
  }
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const pick = <Value>(
  value: unknown,
  isWanted: (one: unknown) => one is Value,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(toRecord(value)).filter((entry): entry is [string, Value] => isWanted(entry[1])),
  );

const keyOf = (table: string): string => `millrace.columns.${table}`;

/** The columns that a reader chose for a table; kept in this browser under the table's name. */
export function useColumnLayout(
  table: string,
): readonly [layout: ColumnLayout, setLayout: (layout: ColumnLayout) => void] {
  const [layout, setLayout] = useState(() => parseColumnLayout(localStorage.getItem(keyOf(table))));
  return [
    layout,
    (next) => {
      setLayout(next);
      localStorage.setItem(keyOf(table), JSON.stringify(next));
    },
  ];
}
