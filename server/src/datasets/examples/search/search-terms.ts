/** Extracts search terms from a value: the distinct words in all of its strings and numbers, at most `limit`. */
export function extractSearchTerms(value: unknown, limit: number): readonly string[] {
  const terms = new Set<string>();
  for (const text of listLeaves(value)) {
    for (const [term] of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      terms.add(term.toLowerCase());
      if (terms.size >= limit) {
        return [...terms];
      }
    }
  }
  return [...terms];
}

/**
 * Yields the strings and numbers in a value, in their order. Does not call itself, so that a deeply nested value can't
 * overflow the call stack.
 */
function* listLeaves(value: unknown): Generator<string> {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === "string" || typeof next === "number") {
      yield String(next);
    } else if (typeof next === "object" && next !== null) {
      const members: readonly unknown[] = Object.values(next);
      pending.push(...members.slice(0, maxMembersPerValue).toReversed());
    }
  }
}

/** Maximum number of members to read of one object or list. */
const maxMembersPerValue = 10_000;
