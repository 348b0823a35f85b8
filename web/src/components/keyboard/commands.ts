/** Something that the command palette can do, or a key. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** Where it stands: `Screens`, `Projects`, `This page`. */
  readonly group: string;
  /** How it is done without the palette. */
  readonly keys?: string;
  /** Absent: the page hears the keys itself; only the keyboard map names them. */
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
