/** Characters and lines of both texts together that are compared without a pause. */
const diffLimits: { readonly characters: number; readonly lines: number } = {
  characters: 400_000,
  lines: 20_000,
};

/** Whether two texts are short enough to be compared line by line on the page's own thread. */
export function isDiffable(before: string, after: string, limits = diffLimits): boolean {
  return (
    before.length + after.length <= limits.characters &&
    countLines(before) + countLines(after) <= limits.lines
  );
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}
