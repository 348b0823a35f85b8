import { computeEditDistance } from "millrace/model";

/** Position and length of a part of a filter, in UTF-16 code units. */
export interface Span {
  /** Number of code units before this part. */
  readonly offset: number;
  readonly length: number;
}

/** An error in a filter, with its position. */
export interface Fault extends Span {
  /** What was found and what is allowed, without the position. */
  readonly reason: string;
  /** The reason without a long list of what is allowed. @defaultValue `reason` */
  readonly shortReason?: string;
}

/** Number of characters that an excerpt shows before and after the error. */
const excerptContext = 40;

/** Thrown for an invalid filter. The message contains the error, its position, and what is allowed there. */
export class FilterError extends Error {
  /** What was found and what is allowed, without the position. */
  readonly reason: string;
  /** The reason without a long list of what is allowed, for the UI, which suggests fields while the user types. */
  readonly shortReason: string;
  readonly offset: number;
  /** Number of code units that the error covers. */
  readonly length: number;
  /** Line number, starting at 1. */
  readonly line: number;
  /** Column number, starting at 1. */
  readonly column: number;

  constructor(text: string, { reason, shortReason = reason, offset, length }: Fault) {
    const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
    const line = text.slice(0, lineStart).split("\n").length;
    const column = offset - lineStart + 1;
    const excerpt = createExcerpt(text, { offset, length, lineStart });
    super(`${reason} (offset ${offset}, line ${line}, column ${column})\n${excerpt}`);
    this.name = "FilterError";
    this.reason = reason;
    this.shortReason = shortReason;
    this.offset = offset;
    this.length = length;
    this.line = line;
    this.column = column;
  }
}

/** Returns the line of the error, or the part of it around the error, with carets below the error. */
function createExcerpt(
  text: string,
  { offset, length, lineStart }: Span & { readonly lineStart: number },
): string {
  const lineEnd = text.indexOf("\n", offset);
  const end = lineEnd === -1 ? text.length : lineEnd;
  const excerptStart = Math.max(lineStart, offset - excerptContext);
  const excerptEnd = Math.min(end, offset + excerptContext);
  const leadingEllipsis = excerptStart > lineStart ? "…" : "";
  const shown =
    leadingEllipsis + text.slice(excerptStart, excerptEnd) + (excerptEnd < end ? "…" : "");
  const carets = "^".repeat(Math.max(1, Math.min(length, excerptEnd - offset)));
  // Each character must take one column: a tab or a NUL would move the carets away from the error.
  const printable = shown.replaceAll(/\p{Cc}/gu, " ");
  return `  ${printable}\n  ${" ".repeat(leadingEllipsis.length + offset - excerptStart)}${carets}`;
}

/** Quotes a name for a message, shortened if it is long. */
export const quoteName = (name: string): string =>
  `\`${name.length > 40 ? `${name.slice(0, 40)}…` : name}\``;

/** Returns ", did you mean `x`?" if a known name is similar, otherwise an empty text. */
export function suggestName(name: string, knownNames: Iterable<string>): string {
  const searchedName = name.slice(0, 40).toLowerCase();
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of knownNames) {
    const distance = computeEditDistance(searchedName, candidate, { swapCost: 1 });
    if (distance <= Math.max(1, candidate.length / 3) && distance < (best?.distance ?? Infinity)) {
      best = { candidate, distance };
    }
  }
  return best === undefined ? "" : `, did you mean \`${best.candidate}\`?`;
}
