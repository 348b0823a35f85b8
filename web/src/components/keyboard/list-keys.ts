import { useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useCommands } from "./commands.ts";
import type { Command } from "./commands.ts";

const commandGroup = "This page";

const focusList = (): void =>
  document.querySelector<HTMLElement>(".data-table [tabindex='0'][data-row-focus]")?.focus();

/** Commands that move the focus into the table. While the table has the focus, it handles these keys itself. */
const focusCommands: readonly Command[] = [
  { id: "list-next", group: commandGroup, label: "Next row", keys: "j", run: focusList },
  { id: "list-previous", group: commandGroup, label: "Previous row", keys: "k", run: focusList },
];
const openCommand: Command = {
  id: "list-open",
  group: commandGroup,
  label: "Open row",
  keys: "Enter",
};
const selectCommand: Command = {
  id: "list-select",
  group: commandGroup,
  label: "Select or deselect row",
  keys: "x",
};

/** Adds the keys of a table to the shortcut list while it is mounted. `j` and `k` then move the focus into it. */
export function useListKeys({
  canOpen,
  canSelect,
}: {
  readonly canOpen: boolean;
  readonly canSelect: boolean;
}): void {
  useCommands(
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
  useCommands(
    useMemo(
      () => [
        { id: "find", group: commandGroup, label, keys: "/", run: () => field.current?.focus() },
      ],
      [label],
    ),
  );
  return field;
}
