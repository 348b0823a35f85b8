import { RequestError } from "../model/errors.ts";

/** Limits on the JSON in one body. */
export interface JsonBounds {
  /** Maximum number of values of any kind. Names of members don't count. */
  readonly valuesMax: number;
  /** Maximum number of arrays and objects that are nested in each other. */
  readonly depthMax: number;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts the values of a JSON text and their nesting while the text arrives, before it is parsed: a small body may
 * contain millions of values, each of which costs memory and time. It does not parse the text, so it may count too
 * many values: two for an empty array or object, and any number for text that is not JSON.
 */
export class JsonBoundsCheck {
  readonly #bounds: JsonBounds;
  #values = 1;
  #depth = 0;
  #isInString = false;
  /** Whether the previous byte is a backslash that escapes the next one. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /**
   * Counts the values in the next bytes of the body.
   *
   * @throws RequestError 413: too many values; 422: they are nested too deeply.
   */
  push(bytes: Buffer): void {
    let position = 0;
    while (position < bytes.length) {
      position = this.#isInString
        ? this.#skipText(bytes, position)
        : this.#countValues(bytes, position);
    }
    const { valuesMax } = this.#bounds;
    if (this.#values > valuesMax) {
      throw new RequestError(
        413,
        `the body has more than ${valuesMax} values; send less in one request`,
      );
    }
  }

  /** Counts values up to the next quote: every comma and every opening bracket counts as one more value. */
  #countValues(bytes: Buffer, start: number): number {
    for (let position = start; position < bytes.length; position += 1) {
      switch (bytes[position]) {
        case quote:
          this.#isInString = true;
          return position + 1;
        case comma:
          this.#values += 1;
          break;
        case openBracket:
        case openBrace:
          this.#values += 1;
          this.#countLevel();
          break;
        case closeBracket:
        case closeBrace:
          this.#depth -= 1;
          break;
        default:
      }
    }
    return bytes.length;
  }

  #countLevel(): void {
    this.#depth += 1;
    const { depthMax } = this.#bounds;
    if (this.#depth > depthMax) {
      throw new RequestError(422, `the body is nested too deeply: more than ${depthMax} levels`);
    }
  }

  /** Returns the position after the closing quote, or the end of the bytes that have arrived. */
  #skipText(bytes: Buffer, start: number): number {
    for (let position = start; position < bytes.length; position += 1) {
      const byte = bytes[position];
      if (this.#isEscaped) {
        this.#isEscaped = false;
      } else if (byte === backslash) {
        this.#isEscaped = true;
      } else if (byte === quote) {
        this.#isInString = false;
        return position + 1;
      }
    }
    return bytes.length;
  }
}
