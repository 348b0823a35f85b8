import { toJson } from "./json-text.ts";

/** Maximum number of warnings of one span. Without a limit, each of its attributes could add one. */
const warningLimit = 20;
/** Maximum length of a warning, in UTF-16 units. */
const warningChars = 300;
/** Maximum length of the beginning of a value that a warning shows, in UTF-16 units. */
const excerptChars = 80;

/**
 * Collects what could not be understood in a span. The warnings become metadata of the span's run, so that a malformed
 * value neither rejects its span nor is dropped silently.
 */
export class SpanWarnings {
  readonly #texts: Set<string>;

  constructor(texts: readonly string[] = []) {
    this.#texts = new Set(texts);
  }

  /** Adds a warning, unless the span has it already. A long one is cut. */
  add(text: string): void {
    if (this.#texts.size < warningLimit) {
      this.#texts.add(text.length > warningChars ? `${text.slice(0, warningChars)}...` : text);
    } else {
      this.#texts.add("further warnings are left out");
    }
  }

  list(): readonly string[] {
    return [...this.#texts];
  }
}

/** Returns the beginning of a value as JSON, for a warning. */
export function toExcerpt(value: unknown): string {
  const json = toJson(typeof value === "string" ? value.slice(0, excerptChars) : value);
  return json.length > excerptChars ? `${json.slice(0, excerptChars)}...` : json;
}
