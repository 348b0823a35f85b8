/** Where a fault begins and how many characters it covers. */
export interface Span {
  /** Characters before it, counted as JavaScript counts them. */
  readonly offset: number;
  readonly length: number;
}

/** A fault of a filter: what is wrong, and where. */
export interface Fault extends Span {
  /** What was found and what is allowed, without the place. */
  readonly reason: string;
}

/** Characters of the faulty line that are shown before and behind the fault. */
const excerptReach = 40;

/** The filter can't be read. The message names the fault, its place, and what is allowed there. */
export class FilterError extends Error {
  /** What was found and what is allowed, without the place. */
  readonly reason: string;
  readonly offset: number;
  /** Characters that the fault covers. */
  readonly length: number;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;

  constructor(text: string, { reason, offset, length }: Fault) {
    const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
    const line = text.slice(0, lineStart).split("\n").length;
    const column = offset - lineStart + 1;
    const excerpt = excerptOf(text, { offset, length, lineStart });
    super(`${reason} (offset ${offset}, line ${line}, column ${column})\n${excerpt}`);
    this.name = "FilterError";
    this.reason = reason;
    this.offset = offset;
    this.length = length;
    this.line = line;
    this.column = column;
  }
}

/** The faulty line, or the part of it around the fault, with carets below the fault. */
function excerptOf(
  text: string,
  { offset, length, lineStart }: Span & { readonly lineStart: number },
): string {
  const lineEnd = text.indexOf("\n", offset);
  const end = lineEnd === -1 ? text.length : lineEnd;
  const from = Math.max(lineStart, offset - excerptReach);
  const to = Math.min(end, offset + excerptReach);
  const head = from > lineStart ? "…" : "";
  const shown = head + text.slice(from, to) + (to < end ? "…" : "");
  const carets = "^".repeat(Math.max(1, Math.min(length, to - offset)));
  // One column for each character: a tab or a NUL would move what follows it.
  const plain = shown.replaceAll(/\p{Cc}/gu, " ");
  return `  ${plain}\n  ${" ".repeat(head.length + offset - from)}${carets}`;
}

/** A name as messages show it, shortened. */
export const quoteName = (name: string): string =>
  `\`${name.length > 40 ? `${name.slice(0, 40)}…` : name}\``;

/** ", did you mean `x`" where one of the names is near, else nothing. */
export function suggest(name: string, known: Iterable<string>): string {
  const wanted = name.slice(0, 40).toLowerCase();
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate);
    if (distance <= Math.max(1, candidate.length / 3) && distance < (best?.distance ?? Infinity)) {
      best = { candidate, distance };
    }
  }
  return best === undefined ? "" : `, did you mean \`${best.candidate}\`?`;
}

/** Insertions, deletions and replacements between two short texts. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column += 1) {
      next.push(
        Math.min(
          (row[column] ?? 0) + (from[index] === to[column] ? 0 : 1),
          (row[column + 1] ?? 0) + 1,
          (next[column] ?? 0) + 1,
        ),
      );
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
