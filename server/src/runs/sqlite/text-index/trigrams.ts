/** Maximum number of trigrams in a query: further ones would hardly narrow the result. */
const maxTrigrams = 24;

/** Matches characters that may be stored differently in the index. Only the text between them is searched. */
const differingCharactersPattern = /[\0\p{Surrogate}\uFFFD-\uFFFF]+/u;

/**
 * Returns the FTS5 query for the runs that may contain a text; `undefined` if the text has no trigram, so that the
 * index can't help.
 *
 * @param count - maximum number of trigrams in the query.
 */
export function toMatchExpression(text: string, count: number = maxTrigrams): string | undefined {
  const trigrams = new Set<string>();
  for (const segment of text.split(differingCharactersPattern)) {
    // Split the text by code points, as FTS5 does.
    const codePoints = Array.from(segment);
    for (let start = 0; start + 3 <= codePoints.length; start += 1) {
      trigrams.add(codePoints.slice(start, start + 3).join(""));
    }
  }
  const allTrigrams = [...trigrams];
  const step = Math.max(1, allTrigrams.length / count);
  const selectedTrigrams = Array.from({ length: Math.min(allTrigrams.length, count) }, (_, index) =>
    String(allTrigrams[Math.floor(index * step)]),
  );
  return selectedTrigrams.length === 0
    ? undefined
    : selectedTrigrams.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}
