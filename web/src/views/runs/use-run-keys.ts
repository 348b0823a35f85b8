import { useHotkeys } from "@mantine/hooks";

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();

/** `/` searches, `f` filters, `j` and `k` go to the list; once the focus is there the list has its own keys. */
export function useRunKeys(): void {
  useHotkeys([
    ["/", () => focus("[data-search-input]")],
    ["f", () => focus("[data-filter-input]")],
    ["j", () => focus(".data-table [tabindex='0'][data-row-focus]")],
    ["k", () => focus(".data-table [tabindex='0'][data-row-focus]")],
  ]);
}
