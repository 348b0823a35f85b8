/** Copies a list, and replaces the item at one position. */
export const replaceAt = <Item>(
  items: readonly Item[],
  index: number,
  item: Item,
): readonly Item[] => items.map((otherItem, position) => (position === index ? item : otherItem));
