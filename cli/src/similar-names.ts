import { computeEditDistance } from "millrace/model";

/** Returns at most `maxCount` names that are similar to `typedName`, the most similar first. */
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

/** Returns the edit distance of two names; 0 if one contains the other. */
const computeDistance = (left: string, right: string): number =>
  left.length > 2 && right.length > 2 && (left.includes(right) || right.includes(left))
    ? 0
    : computeEditDistance(left, right, { swapCost: 1 });
