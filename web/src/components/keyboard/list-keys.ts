import { useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useActions } from "./commands.ts";
import type { Command } from "./commands.ts";

const group = "This page";

const focusList = (): void =>
  document.querySelector<HTMLElement>(".data-table [tabindex='0'][data-row-focus]")?.focus();

/** Commands that move the focus into the table. While the focus is in it, the table handles its keys itself. */
const focusCommands: readonly Command[] = [
  { id: "list-next", group, label: "Next row", keys: "j", run: focusList },
  { id: "list-previous", group, label: "Previous row", keys: "k", run: focusList },
];
const openCommand: Command = { id: "list-open", group, label: "Open row", keys: "Enter" };
const selectCommand: Command = {
  id: "list-select",
  group,
  label: "Select or deselect row",
  keys: "x",
};

/** Lists the keys of a table in the shortcut list while the table is mounted. */
export function useListKeys({
  canOpen,
  canSelect,
}: {
  readonly canOpen: boolean;
  readonly canSelect: boolean;
}): void {
  useActions(
    useMemo(
      () => [
        ...focusCommands,
        ...(canOpen ? [openCommand] : []),
        ...(canSelect ? [selectCommand] : []),
      ],
      [canOpen, canSelect],
    ),
  );
}

/** Registers `/` and a command named `label` that focus the view's search field. Returns the ref for that field. */
export function useSearchShortcut(label: string): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useActions(
    useMemo(
      () => [{ id: "find", group, label, keys: "/", run: () => field.current?.focus() }],
      [label],
    ),
  );
  return field;
}
