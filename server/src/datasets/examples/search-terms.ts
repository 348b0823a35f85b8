/** Returns the search terms of a value: the distinct words of all strings and numbers in it, up to `limit`. */
export function extractSearchTerms(value: unknown, limit: number): readonly string[] {
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

/**
 * Yields the strings and numbers in a value, in order. Uses an explicit stack, so that a deeply nested value can't
 * overflow the call stack.
 */
function* leavesOf(value: unknown): Generator<string> {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === "string" || typeof next === "number") {
      yield String(next);
    } else if (typeof next === "object" && next !== null) {
      const members: readonly unknown[] = Object.values(next);
      pending.push(...members.slice(0, maxMembers).toReversed());
    }
  }
}

/** Maximum number of members of one object or list that are read. */
const maxMembers = 10_000;
