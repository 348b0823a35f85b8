import { cardLength, nextGroup } from "../model/card-number.ts";
import type { RedactionSearch } from "../model/redaction-search.ts";

/** Calls for each place in a text that a rule masks, in order: where it begins, and where it ends. */
export function forEachMatch(
  text: string,
  { pattern, isCard }: Pick<RedactionSearch, "pattern" | "isCard">,
  onMatch: (from: number, to: number) => void,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole] = match;
    const length = isCard === true ? cardLength(whole) : whole.length;
    const [from, to] = match.indices?.groups?.["masked"] ?? [match.index, match.index + length];
    if (whole === "") {
      pattern.lastIndex += 1;
    } else if (length < whole.length) {
      // Behind the card, or at the next digits that may begin one.
      pattern.lastIndex = match.index + (length > 0 ? length : nextGroup(whole));
    }
    if (to > from) {
      onMatch(from, to);
    }
  }
}
