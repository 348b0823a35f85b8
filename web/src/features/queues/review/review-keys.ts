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
  { keys: ["1", "…", "9", "0"], about: "Answer the selected question" },
  { keys: ["↓", "↑"], about: "Select next or previous question" },
  { keys: ["x"], about: "Clear the answer" },
  { keys: ["c"], about: "Write a note" },
  { keys: ["e"], about: "Correct outputs" },
  { keys: ["a"], about: "Add to dataset" },
  { keys: ["d"], about: "Done, go to next run" },
  { keys: ["s"], about: "Skip (the run returns at the end)" },
  { keys: ["u"], about: "Reopen the last completed run" },
  { keys: ["n"], about: "Next waiting run (wraps around)" },
  { keys: ["j"], about: "Next run in the queue" },
  { keys: ["k"], about: "Previous run in the queue" },
  { keys: ["t"], about: "Open trace" },
  { keys: ["Ctrl+Enter"], about: "Done (from a text field)" },
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
  /** The kind of element that has the focus. A text field handles all keys itself, a slider handles the arrow keys. */
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
