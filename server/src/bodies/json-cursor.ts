import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import {
  fail,
  JsonError,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
  takesComma,
} from "./json-skip.ts";
import type { JsonText } from "./json-skip.ts";
import { decodeText } from "./json-text.ts";

export { JsonError };

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Gives where the value ends that begins at `from`: see {@link JsonCursor.skip}. */
type OnMember = (name: string, from: number, nameAt: number) => number;
type OnItem = (from: number) => number;

/** A member's name as it stood at a place, quotes included. */
interface KnownName {
  readonly from: number;
  readonly length: number;
  readonly name: string;
}

/** Members of an object whose names are remembered; those behind are read each time. */
const knownMax = 64;

/**
 * Walks over JSON text without making values of it: checks the grammar (RFC 8259) and finds where
 * values begin and end, so that a payload is stored byte for byte as it came. That the bytes are
 * UTF-8 is checked by the caller, once for the whole text.
 */
export class JsonCursor {
  readonly #text: JsonText;
  /** Names by their place in an object: objects of one list mostly have the same in one order. */
  readonly #known: KnownName[] = [];

  constructor(bytes: Buffer, depthMax: number = serverLimits.jsonDepth) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#text = { bytes, view, depthMax };
  }

  /** The text is one value and nothing else. @throws JsonError it is not. */
  readWhole(): void {
    this.walk((from) => this.skip(from));
  }

  /** The members of the object that the text is, or the `wanted` ones; of equal names the last one counts. */
  readMembers(wanted?: ReadonlySet<string>): Map<string, Buffer> {
    const { bytes } = this.#text;
    const members = new Map<string, Buffer>();
    this.walk((start) =>
      this.walkObject(start, (name, from) => {
        const to = this.skip(from);
        if (wanted === undefined || wanted.has(name)) {
          members.set(name, bytes.subarray(from, to));
        }
        return to;
      }),
    );
    return members;
  }

  /** The items of the array that the text is. @throws RequestError 413: they are more than `itemsMax`. */
  readItems(itemsMax = Number.POSITIVE_INFINITY): Buffer[] {
    const { bytes } = this.#text;
    const items: Buffer[] = [];
    this.walk((start) =>
      this.walkArray(start, (from) => {
        // Before it is made: a small body may hold millions of them.
        if (items.length === itemsMax) {
          throw tooManyItems(itemsMax);
        }
        const to = this.skip(from);
        items.push(bytes.subarray(from, to));
        return to;
      }),
    );
    return items;
  }

  /** The whole text, whose one value `onValue` walks over. @throws JsonError there is more. */
  walk(onValue: OnItem): void {
    const { bytes } = this.#text;
    const at = skipSpace(bytes, onValue(skipSpace(bytes, 0)));
    if (at !== bytes.length) {
      fail(this.#text, at, "the end of the text");
    }
  }

  /** Where a value ends that stands within `outer` levels. */
  skip(from: number, outer = 0): number {
    return skipValue(this.#text, from, outer);
  }

  /** The object that begins there: calls `onMember` for each member, and gives where the object ends. */
  walkObject(from: number, onMember: OnMember): number {
    const text = this.#text;
    const { bytes } = text;
    let at = skipSpace(bytes, this.#enter(from, openBrace, "an object"));
    if (bytes[at] === closeBrace) {
      return at + 1;
    }
    for (let index = 0; ; index += 1) {
      const { name, length } = this.#nameAt(at, index);
      at = skipSpace(bytes, onMember(name, skipColon(text, at + length), at));
      if (!takesComma(text, at, closeBrace)) {
        return at + 1;
      }
      at = skipSpace(bytes, at + 1);
    }
  }

  /** The same for an array and its items. */
  walkArray(from: number, onItem: OnItem): number {
    const text = this.#text;
    const { bytes } = text;
    let at = skipSpace(bytes, this.#enter(from, openBracket, "an array"));
    if (bytes[at] === closeBracket) {
      return at + 1;
    }
    for (;;) {
      at = skipSpace(bytes, onItem(at));
      if (!takesComma(text, at, closeBracket)) {
        return at + 1;
      }
      at = skipSpace(bytes, at + 1);
    }
  }

  #enter(at: number, byte: number, wanted: string): number {
    if (this.#text.bytes[at] !== byte) {
      fail(this.#text, at, wanted);
    }
    return at + 1;
  }

  #nameAt(at: number, index: number): KnownName {
    const { bytes } = this.#text;
    const known = this.#known[index];
    if (known !== undefined && stands(bytes, known, at)) {
      return known;
    }
    if (bytes[at] !== quote) {
      fail(this.#text, at, "a name in quotes");
    }
    const end = skipString(this.#text, at);
    const read = { from: at, length: end - at, name: decodeText(bytes.subarray(at, end)) };
    if (index < knownMax) {
      this.#known[index] = read;
    }
    return read;
  }
}

/** Whether the same name stands there: it ends with a quote, as that one does. */
function stands(bytes: Buffer, { from, length }: KnownName, at: number): boolean {
  let index = 0;
  while (index < length && bytes[from + index] === bytes[at + index]) {
    index += 1;
  }
  return index === length;
}

export const tooManyItems = (itemsMax: number): RequestError =>
  new RequestError(413, `more than ${itemsMax} items in one list; send less in one request`);
