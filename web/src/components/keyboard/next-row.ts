/** The index of the row to which a navigation key moves; `undefined` for any other key. */
export function findNextRow(
  key: string,
  {
    current,
    count,
    pageSize,
  }: {
    readonly current: number;
    readonly count: number;
    /** The number of rows that Page Up and Page Down move by. */
    readonly pageSize: number;
  },
): number | undefined {
  const lastIndex = count - 1;
  const clamp = (index: number): number => Math.max(0, Math.min(lastIndex, index));
  switch (key) {
    case "ArrowDown":
      return clamp(current + 1);
    case "ArrowUp":
      return clamp(current - 1);
    case "PageDown":
      return clamp(current + pageSize);
    case "PageUp":
      return clamp(current - pageSize);
    case "Home":
      return 0;
    case "End":
      return lastIndex;
    default:
      return undefined;
  }
}
