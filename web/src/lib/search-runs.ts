import type { TraceModel } from "./trace-model.ts";

/** Places of the runs whose name, type or id holds a text, in either case, in the order of the tree. */
export function searchRuns(model: TraceModel, text: string): readonly number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") {
    return [];
  }
  const { order, names, types, ids } = model;
  // Names repeat: each is looked at once.
  const known = new Map<string, boolean>();
  const holds = (word: string): boolean => {
    const isHit = known.get(word) ?? word.toLowerCase().includes(wanted);
    known.set(word, isHit);
    return isHit;
  };
  return [...order].filter(
    (run) =>
      holds(names[run] ?? "") || holds(types[run] ?? "") || (ids[run] ?? "").startsWith(wanted),
  );
}
