import { useEffect } from "react";

/** Something that the command palette can do, or a key. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** Where it stands: `Screens`, `Projects`, `This page`. */
  readonly group: string;
  /** How it is done without the palette. */
  readonly keys?: string;
  /** Absent where the page handles the keys itself, and only the keyboard map lists them. */
  readonly run?: () => unknown;
}

/** Commands that fit what was typed, the best first; all of them where nothing was. */
export function findCommands(commands: readonly Command[], text: string): readonly Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands
    .filter(({ run }) => run !== undefined)
    .map((command) => ({ command, rank: rankOf(command, words) }))
    .filter(({ rank }) => rank !== undefined)
    .toSorted((one, other) => (one.rank ?? 0) - (other.rank ?? 0))
    .map(({ command }) => command);
}

/** Lower is better; `undefined`: a word is not in it. */
function rankOf({ label, group }: Command, words: readonly string[]): number | undefined {
  const name = label.toLowerCase();
  const whole = `${name} ${group.toLowerCase()}`;
  if (!words.every((word) => whole.includes(word))) {
    return undefined;
  }
  const [first] = words;
  if (first === undefined) {
    return 0;
  }
  if (name.startsWith(first)) {
    return 0;
  }
  return name.includes(first) ? 1 : 2;
}

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
