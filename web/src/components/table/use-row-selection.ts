import { useRef } from "react";
import { toggleRow } from "./row-selection.ts";
import type { TableStep } from "./data-table-keys.ts";

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
