/**
 * Computes the number of letters to insert, delete or change to convert one text to the other (Levenshtein distance).
 *
 * @param swapCost - cost of two neighboring letters in the wrong order. With 1, they count as one typing mistake; with
 *   the default 2, as two changed letters.
 */
export function computeEditDistance(
  left: string,
  right: string,
  { swapCost = 2 }: { readonly swapCost?: number } = {},
): number {
  let rowBefore: readonly number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let leftIndex = 0; leftIndex < left.length; leftIndex += 1) {
    const nextRow = [leftIndex + 1];
    for (let rightIndex = 0; rightIndex < right.length; rightIndex += 1) {
      const isSame = left[leftIndex] === right[rightIndex];
      const isSwapped =
        leftIndex > 0 &&
        rightIndex > 0 &&
        left[leftIndex] === right[rightIndex - 1] &&
        left[leftIndex - 1] === right[rightIndex];
      nextRow.push(
        Math.min(
          (row[rightIndex] ?? 0) + (isSame ? 0 : 1),
          (row[rightIndex + 1] ?? 0) + 1,
          (nextRow[rightIndex] ?? 0) + 1,
          isSwapped ? (rowBefore[rightIndex - 1] ?? 0) + swapCost : Infinity,
        ),
      );
    }
    rowBefore = row;
    row = nextRow;
  }
  return row[right.length] ?? 0;
}
