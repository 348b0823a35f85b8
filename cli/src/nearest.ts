/** Returns the names that a user who typed `word` may have meant, the most similar first, at most `maxCount`. */
export function findSimilarNames(
  word: string,
  names: readonly string[],
  maxCount = 3,
): readonly string[] {
  const typed = word.toLowerCase();
  const limit = Math.max(2, Math.ceil(typed.length / 3));
  return names
    .map((name) => ({ name, distance: distanceOf(typed, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, maxCount)
    .map(({ name }) => name);
}

/** Number of characters to insert, remove or replace (Levenshtein distance); 0 if one name contains the other. */
function distanceOf(left: string, right: string): number {
  if (left.length > 2 && right.length > 2 && (left.includes(right) || right.includes(left))) {
    return 0;
  }
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let index = 0; index < left.length; index += 1) {
    const next = [index + 1];
    for (let column = 0; column < right.length; column += 1) {
      const replaced = (row[column] ?? 0) + (right[column] === left[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? left.length;
}
