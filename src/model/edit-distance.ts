/**
 * Number of letters to insert, delete or change to convert one text to the other (Levenshtein
 * distance).
 */
export function computeEditDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let leftIndex = 0; leftIndex < left.length; leftIndex += 1) {
    const nextRow = [leftIndex + 1];
    for (let rightIndex = 0; rightIndex < right.length; rightIndex += 1) {
      const substitutionCost =
        (row[rightIndex] ?? 0) + (left[leftIndex] === right[rightIndex] ? 0 : 1);
      nextRow.push(
        Math.min(substitutionCost, (row[rightIndex + 1] ?? 0) + 1, (nextRow[rightIndex] ?? 0) + 1),
      );
    }
    row = nextRow;
  }
  return row[right.length] ?? 0;
}
