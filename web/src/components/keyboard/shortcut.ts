/** What of a pressed key counts. */
export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** `mod+k`, `?`, or `g` when a letter was pressed alone; `undefined` for what is no shortcut. */
export function toStroke({ key, ctrlKey, metaKey, altKey }: Press): string | undefined {
  if (altKey || key.length !== 1) {
    return undefined;
  }
  const name = key.toLowerCase();
  return ctrlKey || metaKey ? `mod+${name}` : name;
}

/** Longest time between the keys of a sequence. */
const sequenceMs = 1_200;

/** Puts single strokes together: `g` and then `h` is `g h`. */
export class KeySequence {
  readonly #firsts: ReadonlySet<string>;
  #pending: { readonly stroke: string; readonly atMs: number } | undefined;

  /** @param firsts strokes that begin a sequence */
  constructor(firsts: readonly string[]) {
    this.#firsts = new Set(firsts);
  }

  /** What was pressed, with what came shortly before it; `undefined`: more must come. */
  press(stroke: string, atMs: number): string | undefined {
    const before = this.#pending;
    this.#pending = undefined;
    if (before !== undefined && atMs - before.atMs <= sequenceMs) {
      return `${before.stroke} ${stroke}`;
    }
    if (this.#firsts.has(stroke)) {
      this.#pending = { stroke, atMs };
      return undefined;
    }
    return stroke;
  }
}

/** Whether keys are typed into an element: letters are letters there. */
export function takesText(element: Element | null): boolean {
  // A shadow root keeps its focus to itself.
  const inner = element?.shadowRoot?.activeElement ?? element;
  const fields = "input, textarea, select, [contenteditable]:not([contenteditable='false'])";
  return (inner?.closest(fields) ?? null) !== null;
}
