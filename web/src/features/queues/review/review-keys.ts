/** An action that a key triggers during a review. */
export type ReviewAction =
  | { readonly kind: "digit"; readonly digit: number }
  | { readonly kind: "question"; readonly step: 1 | -1 }
  | { readonly kind: "clear" }
  | {
      readonly kind:
        | "done"
        | "next"
        | "skip"
        | "undo"
        | "after"
        | "before"
        | "note"
        | "correct"
        | "dataset"
        | "trace";
    };

/** The keyboard shortcuts of a review, in the order of the list that shows them. */
export const reviewKeys = [
  { keys: ["1", "…", "9", "0"], label: "Answer the selected question" },
  { keys: ["↓", "↑"], label: "Select next or previous question" },
  { keys: ["x"], label: "Clear the answer" },
  { keys: ["c"], label: "Write a note" },
  { keys: ["e"], label: "Add correction" },
  { keys: ["a"], label: "Add to dataset" },
  { keys: ["d"], label: "Done, go to next run" },
  { keys: ["s"], label: "Skip (the run returns at the end)" },
  { keys: ["u"], label: "Reopen the last completed run" },
  { keys: ["n"], label: "Next waiting run (wraps around)" },
  { keys: ["j"], label: "Next run in the queue" },
  { keys: ["k"], label: "Previous run in the queue" },
  { keys: ["t"], label: "Open trace" },
  { keys: ["Ctrl+Enter"], label: "Done (from a text field)" },
] as const;

const actionsByKey: Readonly<Record<string, ReviewAction>> = {
  d: { kind: "done" },
  n: { kind: "next" },
  s: { kind: "skip" },
  u: { kind: "undo" },
  j: { kind: "after" },
  k: { kind: "before" },
  c: { kind: "note" },
  e: { kind: "correct" },
  a: { kind: "dataset" },
  t: { kind: "trace" },
  x: { kind: "clear" },
  ArrowDown: { kind: "question", step: 1 },
  ArrowUp: { kind: "question", step: -1 },
};

/** The fields of a keyboard event that select an action. */
export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  /** The kind of element that has the focus. A text field handles all keys itself; a slider handles the arrow keys. */
  readonly target: "text" | "slider" | "page";
}

/** Returns the action for a key, or `undefined` to leave the key to the browser or to the focused text field. */
export function toReviewAction(pressed: PressedKey): ReviewAction | undefined {
  const { key, ctrlKey, metaKey, altKey, target } = pressed;
  if ((ctrlKey || metaKey) && key === "Enter") {
    return { kind: "done" };
  }
  if (target === "text" || ctrlKey || metaKey || altKey) {
    return undefined;
  }
  if (target === "slider" && key.startsWith("Arrow")) {
    return undefined;
  }
  return /^\d$/.test(key) ? { kind: "digit", digit: Number(key) } : actionsByKey[key];
}
