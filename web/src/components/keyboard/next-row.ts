/** The index of the row to which a navigation key moves; `undefined` for any other key. */
export function toNextRow(
  key: string,
  {
    current,
    count,
    page,
  }: {
    readonly current: number;
    readonly count: number;
    /** The number of rows that Page Up and Page Down move by. */
    readonly page: number;
  },
): number | undefined {
  const last = count - 1;
  const clamp = (index: number): number => Math.max(0, Math.min(last, index));
  switch (key) {
    case "ArrowDown":
      return clamp(current + 1);
    case "ArrowUp":
      return clamp(current - 1);
    case "PageDown":
      return clamp(current + page);
    case "PageUp":
      return clamp(current - page);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}
