/** Removes the second row of an item that moved to another page between two requests. */
export function removeRepeatedRows<Row extends { readonly id: string }>(
  rows: readonly Row[],
): readonly Row[] {
  const ids = new Set<string>();
  return rows.filter(({ id }) => !ids.has(id) && ids.add(id));
}
