import { useEffect } from "react";

/** A command of the command palette or a keyboard shortcut. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** The heading under which it is listed: `Screens`, `Projects` or `This page`. */
  readonly group: string;
  /** The shortcut, such as `g h` or `?`. */
  readonly keys?: string;
  /** Absent if the view handles the keys itself; the command is then only listed in the shortcut list. */
  readonly run?: () => unknown;
}

/** The commands that contain all words of the text, the best match first; all commands for an empty text. */
export function findCommands(commands: readonly Command[], text: string): readonly Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands
    .filter(({ run }) => run !== undefined)
    .map((command) => ({ command, rank: rankCommand(command, words) }))
    .filter(({ rank }) => rank !== undefined)
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
    .map(({ command }) => command);
}

/** Ranks a command; lower is better. Returns `undefined` if a word does not occur in it. */
function rankCommand({ label, group }: Command, words: readonly string[]): number | undefined {
  const name = label.toLowerCase();
  const labelAndGroup = `${name} ${group.toLowerCase()}`;
  if (!words.every((word) => labelAndGroup.includes(word))) {
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

/** The commands of the mounted views, for the palette and the shortcut list. */
const registered = new Set<readonly Command[]>();
const listeners = new Set<() => void>();
let current: readonly Command[] = [];

/** The commands of the mounted views, without repeated ids. */
export const readActions = (): readonly Command[] => current;

/** Calls `listener` when the commands change. Returns a function that removes the listener. */
export function onActions(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Registers commands while a view is mounted: in the command palette, under `This page`, and as keyboard
 * shortcuts. Of two commands with the same `id`, the one registered last applies. The caller must memoize
 * `actions` (`useMemo`): a new array is registered again.
 */
export function useActions(actions: readonly Command[]): void {
  useEffect(() => {
    registered.add(actions);
    notifyListeners();
    return () => {
      registered.delete(actions);
      notifyListeners();
    };
  }, [actions]);
}

function notifyListeners(): void {
  const byId = new Map([...registered].flat().map((action) => [action.id, action]));
  current = [...byId.values()];
  listeners.forEach((listener) => listener());
}
