/** Names that someone who typed `word` may have meant, the nearest first. */
export function nearest(word: string, names: readonly string[], most = 3): readonly string[] {
  const wanted = word.toLowerCase();
  const limit = Math.max(2, Math.ceil(wanted.length / 3));
  return names
    .map((name) => ({ name, distance: distanceOf(wanted, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, most)
    .map(({ name }) => name);
}

/** Characters to insert, remove or replace (Levenshtein); 0 where one name contains the other. */
function distanceOf(one: string, other: string): number {
  if (one.length > 2 && other.length > 2 && (one.includes(other) || other.includes(one))) {
    return 0;
  }
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let index = 0; index < one.length; index += 1) {
    const next = [index + 1];
    for (let place = 0; place < other.length; place += 1) {
      const replaced = (row[place] ?? 0) + (other[place] === one[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? one.length;
}
