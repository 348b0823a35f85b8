import type { Command } from "../../components/keyboard/commands.ts";
import { useActions } from "../../components/keyboard/actions.ts";

const focus = (selector: string) => (): void =>
  document.querySelector<HTMLElement>(selector)?.focus();

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
];

/** Keys of the fields above the runs; the list has its own. */
export const useRunKeys = (): void => useActions(actions);
