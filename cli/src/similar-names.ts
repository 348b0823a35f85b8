/** Returns the names that a user who typed `typedName` may have meant, the most similar first, at most `maxCount`. */
export function findSimilarNames(
  typedName: string,
  names: readonly string[],
  maxCount = 3,
): readonly string[] {
  const lowerCaseName = typedName.toLowerCase();
  const maxDistance = Math.max(2, Math.ceil(lowerCaseName.length / 3));
  return names
    .map((name) => ({ name, distance: computeDistance(lowerCaseName, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, maxCount)
    .map(({ name }) => name);
}

/** Number of characters to insert, remove or replace (Levenshtein distance); 0 if one name contains the other. */
function computeDistance(left: string, right: string): number {
  if (left.length > 2 && right.length > 2 && (left.includes(right) || right.includes(left))) {
    return 0;
  }
  let distances = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let index = 0; index < left.length; index += 1) {
    const nextDistances = [index + 1];
    for (let column = 0; column < right.length; column += 1) {
      const replacementDistance =
        (distances[column] ?? 0) + (right[column] === left[index] ? 0 : 1);
      nextDistances.push(
        Math.min(
          replacementDistance,
          (distances[column + 1] ?? 0) + 1,
          (nextDistances[column] ?? 0) + 1,
        ),
      );
    }
    distances = nextDistances;
  }
  return distances.at(-1) ?? left.length;
}
