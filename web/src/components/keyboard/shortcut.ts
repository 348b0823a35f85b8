/** The fields of a keyboard event that identify a key stroke. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Formats a key stroke: `mod+k` with Ctrl or Cmd, else `?` or `g`; `undefined` for keys that are never shortcuts. */
export function toStroke({ key, ctrlKey, metaKey, altKey }: KeyPress): string | undefined {
  if (altKey || key.length !== 1) {
    return undefined;
  }
  const name = key.toLowerCase();
  return ctrlKey || metaKey ? `mod+${name}` : name;
}

/** The maximum time between the two strokes of a sequence. */
const sequenceMs = 1_200;

/** Combines strokes into sequences: `g` followed by `h` is `g h`. */
export class KeySequence {
  readonly #firstStrokes: ReadonlySet<string>;
  #pendingStroke: { readonly stroke: string; readonly atMs: number } | undefined;

  /** @param firstStrokes the strokes that begin a sequence */
  constructor(firstStrokes: readonly string[]) {
    this.#firstStrokes = new Set(firstStrokes);
  }

  /** Adds a stroke. Returns the sequence or the single stroke; `undefined` if the stroke begins a sequence. */
  press(stroke: string, atMs: number): string | undefined {
    const previousStroke = this.#pendingStroke;
    this.#pendingStroke = undefined;
    if (previousStroke !== undefined && atMs - previousStroke.atMs <= sequenceMs) {
      return `${previousStroke.stroke} ${stroke}`;
    }
    if (this.#firstStrokes.has(stroke)) {
      this.#pendingStroke = { stroke, atMs };
      return undefined;
    }
    return stroke;
  }
}

/** Whether an element accepts typed text, so that letter keys must not act as shortcuts. */
export function acceptsText(element: Element | null): boolean {
  // If the focus is inside a shadow root, `document.activeElement` is the host of that root.
  const focusedElement = element?.shadowRoot?.activeElement ?? element;
  const fieldSelector = "input, textarea, select, [contenteditable]:not([contenteditable='false'])";
  return (focusedElement?.closest(fieldSelector) ?? null) !== null;
}
