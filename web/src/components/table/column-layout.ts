import { useCallback, useState } from "react";

/** A user's changes to the columns of a table. Ids of columns that no longer exist are ignored. */
export interface ColumnLayout {
  /** Column ids in the user's order. {@link toColumnOrder} places the columns that are missing in this list. */
  readonly order: readonly string[];
  /** Whether a column is shown, for columns that the user has shown or hidden. */
  readonly shown: Readonly<Record<string, boolean>>;
  /** Widths in pixels, for columns that the user has resized. */
  readonly widths: Readonly<Record<string, number>>;
}

/** The table's default layout. */
export const defaultLayout: ColumnLayout = { order: [], shown: {}, widths: {} };

const minWidth = 48;
const maxWidth = 1_600;

export const clampWidth = (width: number): number =>
  Math.round(Math.max(minWidth, Math.min(maxWidth, width)));

/** Parses a stored layout. Invalid parts are replaced by the default. */
export function parseColumnLayout(text: string | null): ColumnLayout {
  const value = toRecord(parseJson(text ?? ""));
  const { order, shown, widths } = value;
  return {
    order: Array.isArray(order) ? order.filter((id) => typeof id === "string") : [],
    shown: pickMembers(shown, (member) => typeof member === "boolean"),
    widths: Object.fromEntries(
      Object.entries(
        pickMembers(
          widths,
          (member): member is number => typeof member === "number" && Number.isFinite(member),
        ),
      ).map(([id, width]) => [id, clampWidth(width)]),
    ),
  };
}

/**
 * Sorts column ids by a layout. A column that is not in the layout is placed after the column that precedes it in the
 * default order, `ids`.
 */
export function toColumnOrder(ids: readonly string[], { order }: ColumnLayout): string[] {
  const existingIds = order.filter((id) => ids.includes(id));
  return ids.reduce<string[]>((ordered, id, index) => {
    if (!ordered.includes(id)) {
      const predecessorIndex = ordered.indexOf(ids[index - 1] ?? "");
      ordered.splice(predecessorIndex + 1, 0, id);
    }
    return ordered;
  }, existingIds);
}

/** Moves a column before another one, or to the end if `before` is `undefined`. */
export function moveColumn(
  layout: ColumnLayout,
  ids: readonly string[],
  { id, before }: { readonly id: string; readonly before: string | undefined },
): ColumnLayout {
  if (id === before) {
    return layout;
  }
  const others = toColumnOrder(ids, layout).filter((other) => other !== id);
  const index = before === undefined ? others.length : others.indexOf(before);
  return { ...layout, order: others.toSpliced(index === -1 ? others.length : index, 0, id) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The stored text is not valid JSON, so the default layout applies.
  }
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** The members of an object for which `isValid` returns true; empty if the value is not an object. */
const pickMembers = <Value>(
  value: unknown,
  isValid: (member: unknown) => member is Value,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(toRecord(value)).filter((entry): entry is [string, Value] => isValid(entry[1])),
  );

const toStorageKey = (table: string): string => `millrace.columns.${table}`;

/** The user's column layout of a table, stored in localStorage under the table's name. */
export function useColumnLayout(
  table: string,
): readonly [layout: ColumnLayout, setLayout: (layout: ColumnLayout) => void] {
  const [layout, setLayout] = useState(() =>
    parseColumnLayout(localStorage.getItem(toStorageKey(table))),
  );
  const storeLayout = useCallback(
    (newLayout: ColumnLayout): void => {
      setLayout(newLayout);
      localStorage.setItem(toStorageKey(table), JSON.stringify(newLayout));
    },
    [table],
  );
  return [layout, storeLayout];
}
