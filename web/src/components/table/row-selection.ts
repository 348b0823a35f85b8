import { useRef } from "react";
import type { TableStep } from "./data-table-keys.ts";

/** What a click with or without shift makes of a selection. */
export interface SelectionStep {
  readonly ids: readonly string[];
  /** The row that is turned on or off. */
  readonly id: string;
  /** Where the last step was; a range begins there. */
  readonly anchor: string | undefined;
  readonly isRange: boolean;
}

/** Turns a row on or off; with a range all rows from the anchor to it become what it becomes. */
export function toggleRow(
  selected: ReadonlySet<string>,
  { ids, id, anchor, isRange }: SelectionStep,
): ReadonlySet<string> {
  const isOn = !selected.has(id);
  const from = anchor === undefined ? -1 : ids.indexOf(anchor);
  const to = ids.indexOf(id);
  const range =
    isRange && from !== -1 && to !== -1
      ? ids.slice(Math.min(from, to), Math.max(from, to) + 1)
      : [id];
  const next = new Set(selected);
  for (const one of range) {
    if (isOn) {
      next.add(one);
    } else {
      next.delete(one);
    }
  }
  return next;
}

interface Props {
  readonly selection?: ReadonlySet<string>;
  readonly onSelection?: (ids: ReadonlySet<string>) => void;
}

export interface RowSelection {
  /** Whether rows can be selected. */
  readonly isOn: boolean;
  /** As the table's model has it. */
  readonly state: Record<string, true>;
  readonly toggle: (
    id: string,
    how: { readonly isRange: boolean; readonly ids: () => readonly string[] },
  ) => void;
  readonly onKey: (
    step: TableStep,
    at: { readonly current: number | undefined; readonly ids: () => readonly string[] },
  ) => void;
  readonly set: (ids: ReadonlySet<string>) => void;
}

const nothing: ReadonlySet<string> = new Set();

/** The selection of a table's rows, by click, by range and by key. */
export function useRowSelection({ selection = nothing, onSelection }: Props): RowSelection {
  const anchor = useRef<string>(undefined);
  const set = (ids: ReadonlySet<string>): void => onSelection?.(ids);
  const toggle: RowSelection["toggle"] = (id, { isRange, ids }) => {
    set(toggleRow(selection, { ids: isRange ? ids() : [], id, anchor: anchor.current, isRange }));
    anchor.current = id;
  };
  return {
    isOn: onSelection !== undefined,
    state: Object.fromEntries([...selection].map((id) => [id, true as const])),
    set,
    toggle,
    onKey: (step, { current, ids }) => {
      if (onSelection === undefined || step.kind === "none") {
        return;
      }
      if (step.kind === "clear") {
        set(nothing);
        return;
      }
      const id = current === undefined ? undefined : ids()[current];
      if (step.kind === "toggle") {
        if (id !== undefined) {
          toggle(id, { isRange: step.isRange, ids });
        }
        return;
      }
      if (step.isRange) {
        const next = ids()[step.to];
        set(new Set([...selection, ...[id, next].filter((one) => one !== undefined)]));
        anchor.current = next;
      }
    },
  };
}
