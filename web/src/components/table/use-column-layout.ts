import { useState } from "react";
import { parseColumnLayout } from "./column-layout.ts";
import type { ColumnLayout } from "./column-layout.ts";

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
