import { useEffect } from "react";

/** A command of the command palette or a keyboard shortcut. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** The group that the command palette shows next to the label, such as `Pages`, `Project` or `This page`. */
  readonly group: string;
  /** The shortcut, such as `g h` or `?`. */
  readonly keys?: string;
  /**
   * Runs the command. Absent if the page handles the keys itself; the command then only appears in the shortcut list.
   */
  readonly run?: () => unknown;
}

/**
 * Returns the commands that contain all words of the text, the best match first. Returns all commands for an empty
 * text.
 */
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
  const [firstWord] = words;
  if (firstWord === undefined) {
    return 0;
  }
  if (name.startsWith(firstWord)) {
    return 0;
  }
  return name.includes(firstWord) ? 1 : 2;
}

/** The commands of the mounted views, for the palette and the shortcut list. */
const registeredCommands = new Set<readonly Command[]>();
const listeners = new Set<() => void>();
let currentCommands: readonly Command[] = [];

/** The commands of the mounted views, without repeated ids. */
export const readCommands = (): readonly Command[] => currentCommands;

/** Calls `listener` when the commands change. Returns a function that removes the listener. */
export function subscribeToCommands(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Registers commands while a view is mounted: in the command palette, under `This page`, and as keyboard
 * shortcuts. Of two commands with the same `id`, the one registered last applies. The caller must memoize
 * `commands` (`useMemo`): a new array is registered again.
 */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    registeredCommands.add(commands);
    notifyListeners();
    return () => {
      registeredCommands.delete(commands);
      notifyListeners();
    };
  }, [commands]);
}

function notifyListeners(): void {
  const byId = new Map([...registeredCommands].flat().map((command) => [command.id, command]));
  currentCommands = [...byId.values()];
  listeners.forEach((listener) => listener());
}
