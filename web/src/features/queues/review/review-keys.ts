/** What a key does on the review page. */
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

/** The keys, in the order in which the page lists them. */
export const reviewKeys = [
  { keys: ["1", "…", "9", "0"], about: "Answer the marked question" },
  { keys: ["↓", "↑"], about: "Mark the next or previous question" },
  { keys: ["x"], about: "Take its answer away" },
  { keys: ["c"], about: "Write a note" },
  { keys: ["e"], about: "Correct the outputs" },
  { keys: ["a"], about: "Add to the dataset" },
  { keys: ["d"], about: "Done, and on to the next run" },
  { keys: ["s"], about: "Skip: it comes back last" },
  { keys: ["u"], about: "Reopen what was done last" },
  { keys: ["n"], about: "Leave it for the next that waits" },
  { keys: ["j"], about: "The run behind" },
  { keys: ["k"], about: "The run before" },
  { keys: ["t"], about: "Open the trace" },
  { keys: ["Ctrl+Enter"], about: "Done, from within a text" },
] as const;

const letters: Readonly<Record<string, ReviewAction>> = {
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

/** A key event of the browser, with its target. */
export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  /** Into a text, which keeps it; into a slider, which keeps the arrows. */
  readonly into: "text" | "slider" | "page";
}

/** `undefined`: the key is the browser's, or the text's that is written. */
export function toReviewAction(pressed: PressedKey): ReviewAction | undefined {
  const { key, ctrlKey, metaKey, altKey, into } = pressed;
  if ((ctrlKey || metaKey) && key === "Enter") {
    return { kind: "done" };
  }
  if (into === "text" || ctrlKey || metaKey || altKey) {
    return undefined;
  }
  if (into === "slider" && key.startsWith("Arrow")) {
    return undefined;
  }
  return /^\d$/.test(key) ? { kind: "digit", digit: Number(key) } : letters[key];
}
