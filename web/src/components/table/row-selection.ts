import { useRef } from "react";
import type { TableAction } from "./data-table-keys.ts";

/** A click on the check box of a row, with or without Shift. */
export interface SelectionClick {
  /** The ids of all rows, in their order. */
  readonly ids: readonly string[];
  /** The row that is selected or deselected. */
  readonly id: string;
  /** The row of the previous click, where a range begins. */
  readonly anchor: string | undefined;
  readonly isRange: boolean;
}

/** Selects or deselects a row. With `isRange`, all rows from the anchor to this row get the same state. */
export function toggleRow(
  selected: ReadonlySet<string>,
  { ids, id, anchor, isRange }: SelectionClick,
): ReadonlySet<string> {
  const isSelecting = !selected.has(id);
  const from = anchor === undefined ? -1 : ids.indexOf(anchor);
  const to = ids.indexOf(id);
  const range =
    isRange && from !== -1 && to !== -1
      ? ids.slice(Math.min(from, to), Math.max(from, to) + 1)
      : [id];
  const newSelection = new Set(selected);
  for (const rowId of range) {
    if (isSelecting) {
      newSelection.add(rowId);
    } else {
      newSelection.delete(rowId);
    }
  }
  return newSelection;
}

interface RowSelectionProps {
  readonly selection?: ReadonlySet<string>;
  readonly onSelection?: (ids: ReadonlySet<string>) => void;
}

/** The state of a table's selection and functions to change it. */
export interface RowSelection {
  /** Whether rows can be selected. */
  readonly isEnabled: boolean;
  /** The selection in the format of the table library. */
  readonly state: Record<string, true>;
  readonly toggle: (
    id: string,
    options: { readonly isRange: boolean; readonly ids: () => readonly string[] },
  ) => void;
  readonly onKey: (
    action: TableAction,
    position: { readonly current: number | undefined; readonly ids: () => readonly string[] },
  ) => void;
  readonly set: (ids: ReadonlySet<string>) => void;
}

const emptySelection: ReadonlySet<string> = new Set();

/** Manages the selection of a table's rows by click, by range and by keyboard. */
export function useRowSelection({
  selection = emptySelection,
  onSelection,
}: RowSelectionProps): RowSelection {
  const anchor = useRef<string>(undefined);
  const set = (ids: ReadonlySet<string>): void => onSelection?.(ids);
  const toggle: RowSelection["toggle"] = (id, { isRange, ids }) => {
    set(toggleRow(selection, { ids: isRange ? ids() : [], id, anchor: anchor.current, isRange }));
    anchor.current = id;
  };
  return {
    isEnabled: onSelection !== undefined,
    state: Object.fromEntries([...selection].map((id) => [id, true as const])),
    set,
    toggle,
    onKey: (action, { current, ids }) => {
      if (onSelection === undefined || action.kind === "none") {
        return;
      }
      if (action.kind === "clear") {
        set(emptySelection);
        return;
      }
      const id = current === undefined ? undefined : ids()[current];
      if (action.kind === "toggle") {
        if (id !== undefined) {
          toggle(id, { isRange: action.isRange, ids });
        }
        return;
      }
      if (action.isRange) {
        const nextRowId = ids()[action.to];
        set(new Set([...selection, ...[id, nextRowId].filter((rowId) => rowId !== undefined)]));
        anchor.current = nextRowId;
      }
    },
  };
}
