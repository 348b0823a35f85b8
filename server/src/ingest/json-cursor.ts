import { RequestError } from "../errors.ts";
import { serverLimits } from "../options.ts";
import { escapable, hasSpecial, hexDigit, plain } from "./json-bytes.ts";
import { decodeText } from "./json-text.ts";

/** The text is not JSON; the message says where. */
export class JsonError extends Error {}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Walks over JSON text without making values of it: checks the grammar (RFC 8259) and finds where
 * values begin and end, so that a payload is stored byte for byte as it came. That the bytes are
 * UTF-8 is checked by the caller, once for the whole text.
 */
export class JsonCursor {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #depthMax: number;
  #at = 0;

  constructor(bytes: Buffer, depthMax: number = serverLimits.jsonDepth) {
    this.#bytes = bytes;
    this.#depthMax = depthMax;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The text is one value and nothing else. @throws JsonError it is not. */
  readWhole(): void {
    this.#skipSpace();
    this.#skipValue();
    this.#expectEnd();
  }

  /** The members of the object that the text is, or the `wanted` ones; of equal names the last one counts. */
  readMembers(wanted?: ReadonlySet<string>): Map<string, Buffer> {
    const members = new Map<string, Buffer>();
    this.#skipSpace();
    this.#take(openBrace, "an object");
    this.#skipSpace();
    if (this.#bytes[this.#at] === closeBrace) {
      this.#at += 1;
    } else {
      do {
        this.#skipSpace();
        const name = this.#readName();
        const from = this.#at;
        this.#skipValue();
        if (wanted === undefined || wanted.has(name)) {
          members.set(name, this.#bytes.subarray(from, this.#at));
        }
        this.#skipSpace();
      } while (this.#takesComma(closeBrace));
    }
    this.#expectEnd();
    return members;
  }

  /** The items of the array that the text is. @throws RequestError 413: they are more than `itemsMax`. */
  readItems(itemsMax = Number.POSITIVE_INFINITY): Buffer[] {
    const items: Buffer[] = [];
    this.#skipSpace();
    this.#take(openBracket, "an array");
    this.#skipSpace();
    if (this.#bytes[this.#at] === closeBracket) {
      this.#at += 1;
    } else {
      do {
        this.#skipSpace();
        // Before it is made: a small body may hold millions of them.
        if (items.length === itemsMax) {
          throw new RequestError(
            413,
            `more than ${itemsMax} items in one list; send less in one request`,
          );
        }
        items.push(this.#sliceValue());
        this.#skipSpace();
      } while (this.#takesComma(closeBracket));
    }
    this.#expectEnd();
    return items;
  }

  #readName(): string {
    const from = this.#at;
    if (this.#bytes[from] !== quote) {
      this.#fail("a name in quotes");
    }
    this.#skipString();
    const name = decodeText(this.#bytes.subarray(from, this.#at));
    this.#skipSpace();
    this.#take(colon, "a colon");
    this.#skipSpace();
    return name;
  }

  #sliceValue(): Buffer {
    const from = this.#at;
    this.#skipValue();
    return this.#bytes.subarray(from, this.#at);
  }

  /** One value. A loop with its own stack: a hostile depth can't exhaust the thread's. */
  #skipValue(): void {
    const bytes = this.#bytes;
    const closers: number[] = [];
    for (;;) {
      const byte = bytes[this.#at];
      if (byte === openBrace || byte === openBracket) {
        const closer = byte + 2;
        this.#at += 1;
        this.#skipSpace();
        if (bytes[this.#at] !== closer) {
          if (closers.push(closer) > this.#depthMax) {
            this.#fail(`at most ${this.#depthMax} levels`);
          }
          this.#enterMember(closer);
          continue;
        }
        this.#at += 1;
      } else {
        this.#skipScalar(byte);
      }
      if (!this.#leaveValue(closers)) {
        return;
      }
    }
  }

  /** After a value: on to the next member, or out of all that ends here. False when nothing is open. */
  #leaveValue(closers: number[]): boolean {
    for (let closer = closers.at(-1); closer !== undefined; closer = closers.at(-1)) {
      this.#skipSpace();
      if (this.#takesComma(closer)) {
        this.#skipSpace();
        this.#enterMember(closer);
        return true;
      }
      closers.pop();
    }
    return false;
  }

  #enterMember(closer: number): void {
    if (closer === closeBrace) {
      if (this.#bytes[this.#at] !== quote) {
        this.#fail("a name in quotes");
      }
      this.#skipString();
      this.#skipSpace();
      this.#take(colon, "a colon");
      this.#skipSpace();
    }
  }

  #skipScalar(byte: number | undefined): void {
    if (byte === quote) {
      this.#skipString();
    } else if (byte === 0x74) {
      this.#skipWord("true");
    } else if (byte === 0x66) {
      this.#skipWord("false");
    } else if (byte === 0x6e) {
      this.#skipWord("null");
    } else {
      this.#skipNumber();
    }
  }

  #skipString(): void {
    const bytes = this.#bytes;
    const view = this.#view;
    const end = bytes.length;
    const lastWord = end - 4;
    let at = this.#at + 1;
    for (;;) {
      // Four bytes at a time, while none of them is special; then on to the one that is.
      while (at <= lastWord && !hasSpecial(view.getInt32(at))) {
        at += 4;
      }
      while (at < end && plain[bytes[at] ?? 0] === 1) {
        at += 1;
      }
      const byte = bytes[at];
      if (byte === quote) {
        this.#at = at + 1;
        return;
      }
      this.#at = at;
      if (byte !== backslash) {
        this.#fail(byte === undefined ? "the end of a string" : "an escaped control character");
      }
      at = this.#afterEscape(at);
    }
  }

  #afterEscape(at: number): number {
    const kind = this.#bytes[at + 1] ?? 0;
    if (kind === 0x75) {
      for (let digit = at + 2; digit < at + 6; digit += 1) {
        if (hexDigit[this.#bytes[digit] ?? 0] !== 1) {
          this.#fail("four hexadecimal digits after \\u");
        }
      }
      return at + 6;
    }
    if (escapable[kind] !== 1) {
      this.#fail("a known escape");
    }
    return at + 2;
  }

  #skipWord(word: string): void {
    for (let index = 0; index < word.length; index += 1) {
      if (this.#bytes[this.#at + index] !== word.charCodeAt(index)) {
        this.#fail(word);
      }
    }
    this.#at += word.length;
  }

  #skipNumber(): void {
    const bytes = this.#bytes;
    if (bytes[this.#at] === 0x2d) {
      this.#at += 1;
    }
    if (bytes[this.#at] === 0x30) {
      this.#at += 1;
    } else {
      this.#skipDigits("a value");
    }
    if (bytes[this.#at] === 0x2e) {
      this.#at += 1;
      this.#skipDigits("a digit");
    }
    if (bytes[this.#at] === 0x65 || bytes[this.#at] === 0x45) {
      this.#at += bytes[this.#at + 1] === 0x2b || bytes[this.#at + 1] === 0x2d ? 2 : 1;
      this.#skipDigits("a digit");
    }
  }

  #skipDigits(wanted: string): void {
    const from = this.#at;
    for (let byte = this.#bytes[this.#at] ?? 0; byte >= 0x30 && byte <= 0x39;) {
      this.#at += 1;
      byte = this.#bytes[this.#at] ?? 0;
    }
    if (this.#at === from) {
      this.#fail(wanted);
    }
  }

  #skipSpace(): void {
    for (
      let byte = this.#bytes[this.#at];
      byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    ) {
      this.#at += 1;
      byte = this.#bytes[this.#at];
    }
  }

  #take(byte: number, wanted: string): void {
    if (this.#bytes[this.#at] !== byte) {
      this.#fail(wanted);
    }
    this.#at += 1;
  }

  /** True after a comma, false after the closer. */
  #takesComma(closer: number): boolean {
    const byte = this.#bytes[this.#at];
    if (byte !== comma && byte !== closer) {
      this.#fail(`a comma or ${String.fromCharCode(closer)}`);
    }
    this.#at += 1;
    return byte === comma;
  }

  #expectEnd(): void {
    this.#skipSpace();
    if (this.#at !== this.#bytes.length) {
      this.#fail("the end of the text");
    }
  }

  #fail(wanted: string): never {
    throw new JsonError(
      `not JSON: expected ${wanted} at byte ${this.#at} of ${this.#bytes.length}`,
    );
  }
}
