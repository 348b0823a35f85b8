import type { Command } from "../../lib/commands.ts";
import { useActions } from "../../parts/actions.ts";

const focus = (selector: string) => (): void =>
  document.querySelector<HTMLElement>(selector)?.focus();
const goToList = focus(".data-table [tabindex='0'][data-row-focus]");

const actions: readonly Command[] = [
  {
    id: "runs-search",
    group: "This page",
    label: "Search all text",
    keys: "/",
    run: focus("[data-search-input]"),
  },
  {
    id: "runs-filter",
    group: "This page",
    label: "Filter the runs",
    keys: "f",
    run: focus("[data-filter-input]"),
  },
  {
    id: "runs-next",
    group: "This page",
    label: "Go to the list, next row",
    keys: "j",
    run: goToList,
  },
  {
    id: "runs-previous",
    group: "This page",
    label: "Go to the list, previous row",
    keys: "k",
    run: goToList,
  },
];

/** Keys of the list of runs. Once the focus is in it the list has its own: `data-table.tsx` says which. */
export const useRunKeys = (): void => useActions(actions);
