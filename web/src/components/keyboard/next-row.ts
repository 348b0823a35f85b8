/** The row that a key leads to; `undefined`: the key means nothing in a list. */
export function toNextRow(
  key: string,
  {
    current,
    count,
    page,
  }: { readonly current: number; readonly count: number; readonly page: number },
): number | undefined {
  const last = count - 1;
  const within = (index: number): number => Math.max(0, Math.min(last, index));
  switch (key) {
    case "ArrowDown":
      return within(current + 1);
    case "ArrowUp":
      return within(current - 1);
    case "PageDown":
      return within(current + page);
    case "PageUp":
      return within(current - page);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}
