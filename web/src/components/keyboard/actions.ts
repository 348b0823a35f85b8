import { useEffect } from "react";
import type { Command } from "./commands.ts";

/** Actions of the views on the page, for the palette and the keyboard map. */
const registered = new Set<readonly Command[]>();
const listeners = new Set<() => void>();
let all: readonly Command[] = [];

export const readActions = (): readonly Command[] => all;

export function onActions(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Offers what a view can do in the command palette, under `This page`, and by its `keys` while the view
 * is there; two parts that offer an action of one `id` offer it once. `actions` is kept by the caller
 * (`useMemo`): a new list is another registration.
 */
export function useActions(actions: readonly Command[]): void {
  useEffect(() => {
    registered.add(actions);
    announce();
    return () => {
      registered.delete(actions);
      announce();
    };
  }, [actions]);
}

function announce(): void {
  const byId = new Map([...registered].flat().map((action) => [action.id, action]));
  all = [...byId.values()];
  listeners.forEach((listener) => listener());
}
