import { exchangeWarningsKey } from "../../../model/records/exchange.ts";
import type { ExchangeFields } from "../../../model/records/exchange.ts";

/** Maximum number of different warnings that are kept for one exchange. */
const maxWarnings = 10;
/** The longest excerpt of a body inside a warning or an error, in UTF-16 units. */
const maxExcerptLength = 300;

/** Collects what was not understood in an exchange. Repeated warnings are kept once. */
export class Warnings {
  readonly #texts = new Set<string>();
  #omitted = 0;

  add(text: string): void {
    if (this.#texts.size < maxWarnings || this.#texts.has(text)) {
      this.#texts.add(text);
    } else {
      this.#omitted += 1;
    }
  }

  /** Returns the fields, with the warnings in the metadata if there are any. */
  addTo(fields: ExchangeFields): ExchangeFields {
    if (this.#texts.size === 0) {
      return fields;
    }
    const texts = [...this.#texts];
    if (this.#omitted > 0) {
      texts.push(`${this.#omitted} more warnings were left out.`);
    }
    return { ...fields, metadata: { ...fields.metadata, [exchangeWarningsKey]: texts } };
  }
}

/** Returns the beginning of a text, on one line, for a warning or an error. */
export function toExcerpt(text: string): string {
  const line = text
    .slice(0, 2 * maxExcerptLength)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxExcerptLength || text.length > 2 * maxExcerptLength
    ? `${line.slice(0, maxExcerptLength).toWellFormed()}…`
    : line.toWellFormed();
}
