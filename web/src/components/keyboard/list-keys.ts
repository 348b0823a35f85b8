import { useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useActions } from "./commands.ts";
import type { Command } from "./commands.ts";

const group = "This page";

const goToList = (): void =>
  document.querySelector<HTMLElement>(".data-table [tabindex='0'][data-row-focus]")?.focus();

/** Ways into a table from elsewhere on the page. Once the focus is in it the table has its own keys. */
const into: readonly Command[] = [
  { id: "list-next", group, label: "Go to the list, next row", keys: "j", run: goToList },
  { id: "list-previous", group, label: "Go to the list, previous row", keys: "k", run: goToList },
];
const opens: Command = { id: "list-open", group, label: "Open the row", keys: "Enter" };
const selects: Command = { id: "list-select", group, label: "Select the row, or not", keys: "x" };

/** Names the keys of a table on the keyboard map while it is there. */
export function useListKeys({
  canOpen,
  canSelect,
}: {
  readonly canOpen: boolean;
  readonly canSelect: boolean;
}): void {
  useActions(
    useMemo(
      () => [...into, ...(canOpen ? [opens] : []), ...(canSelect ? [selects] : [])],
      [canOpen, canSelect],
    ),
  );
}

/** The field of a page that finds what it lists; `/` leads there, and so does `label` in the palette. */
export function useFindKey(label: string): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useActions(
    useMemo(
      () => [{ id: "find", group, label, keys: "/", run: () => field.current?.focus() }],
      [label],
    ),
  );
  return field;
}
