/** Copies a list with another item at one position. */
export const replaceAt = <Item>(
  items: readonly Item[],
  index: number,
  item: Item,
): readonly Item[] => items.map((current, position) => (position === index ? item : current));
