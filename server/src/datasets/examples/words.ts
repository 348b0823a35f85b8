/** What a search looks for: the words of all texts and numbers in a value, each once, so many at most. */
export function wordsOf(value: unknown, limit: number): readonly string[] {
  const words = new Set<string>();
  for (const text of leavesOf(value)) {
    for (const [word] of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      words.add(word.toLowerCase());
      if (words.size >= limit) {
        return [...words];
      }
    }
  }
  return [...words];
}

/** The texts and numbers in a value, in order. With a stack of its own: a deep value can't exhaust the thread's. */
function* leavesOf(value: unknown): Generator<string> {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string" || typeof next === "number") {
      yield String(next);
    } else if (typeof next === "object" && next !== null) {
      const members: readonly unknown[] = Object.values(next);
      open.push(...members.slice(0, leavesMax).toReversed());
    }
  }
}

/** Members of one object or list that are looked at. */
const leavesMax = 10_000;
