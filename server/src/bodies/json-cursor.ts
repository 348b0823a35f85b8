import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import {
  fail,
  JsonError,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
  hasComma,
} from "./json-skip.ts";
import type { JsonText } from "./json-skip.ts";
import { decodeText } from "./json-text.ts";

export { JsonError };

const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Called with the position of a member's value. Must return the position after the value: see {@link
 * JsonCursor.skip}.
 */
type OnMember = (name: string, from: number, nameAt: number) => number;
type OnItem = (from: number) => number;

/** A member's name and where its text is, quotes included. */
interface CachedName {
  readonly bytes: Buffer;
  readonly from: number;
  readonly length: number;
  readonly name: string;
}

/**
 * The names of members by their index in an object. Objects of one list mostly have the same members in the same order,
 * and comparing a name with the one before takes less time than decoding it. It refers to the texts that the names come from.
 */
export type NameCache = CachedName[];

/** Number of members of an object whose names are cached. Further names are decoded each time. */
const maxCachedNames = 64;

/**
 * Walks through JSON text without creating values: checks the grammar (RFC 8259) and finds where values begin and
 * end, so that a payload can be stored byte for byte as received. The caller must check that the bytes are UTF-8.
 */
export class JsonCursor {
  readonly #text: JsonText;
  readonly #names: NameCache;

  /** @param names - a cache that several texts with similar objects share. */
  constructor(bytes: Buffer, depthMax: number = serverLimits.jsonDepth, names: NameCache = []) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#text = { bytes, view, depthMax };
    this.#names = names;
  }

  /** Checks that the text is exactly one value. @throws JsonError it is not. */
  readWhole(): void {
    this.walk((from) => this.skip(from));
  }

  /**
   * Returns the members of the object that the text contains, or only the `wanted` ones. A later member replaces an
   * earlier one of the same name.
   */
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

  /**
   * Returns the items of the array that the text contains. @throws RequestError 413: more than `itemsMax` items.
   */
  readItems(itemsMax = Number.POSITIVE_INFINITY): Buffer[] {
    const { bytes } = this.#text;
    const items: Buffer[] = [];
    this.walk((start) =>
      this.walkArray(start, (from) => {
        // Checked before the item is added: a small body may contain millions of items.
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

  /** Walks through the whole text; `onValue` must consume its only value. @throws JsonError there is more text. */
  walk(onValue: OnItem): void {
    const { bytes } = this.#text;
    const at = skipSpace(bytes, onValue(skipSpace(bytes, 0)));
    if (at !== bytes.length) {
      fail(this.#text, at, "the end of the text");
    }
  }

  /** Returns the position after the value at `from`, which is nested in `outer` levels. */
  skip(from: number, outer = 0): number {
    return skipValue(this.#text, from, outer);
  }

  /** Walks through an object, calls `onMember` for each member, and returns the position after the object. */
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
      if (!hasComma(text, at, closeBrace)) {
        return at + 1;
      }
      at = skipSpace(bytes, at + 1);
    }
  }

  /** Like {@link JsonCursor.walkObject}, for an array and its items. */
  walkArray(from: number, onItem: OnItem): number {
    const text = this.#text;
    const { bytes } = text;
    let at = skipSpace(bytes, this.#enter(from, openBracket, "an array"));
    if (bytes[at] === closeBracket) {
      return at + 1;
    }
    for (;;) {
      at = skipSpace(bytes, onItem(at));
      if (!hasComma(text, at, closeBracket)) {
        return at + 1;
      }
      at = skipSpace(bytes, at + 1);
    }
  }

  #enter(at: number, byte: number, expected: string): number {
    if (this.#text.bytes[at] !== byte) {
      fail(this.#text, at, expected);
    }
    return at + 1;
  }

  #nameAt(at: number, index: number): CachedName {
    const { bytes } = this.#text;
    const cached = this.#names[index];
    if (cached !== undefined && matchesAt(bytes, cached, at)) {
      return cached;
    }
    if (bytes[at] !== quote) {
      fail(this.#text, at, "a name in quotes");
    }
    const end = skipString(this.#text, at);
    const name = decodeText(bytes.subarray(at, end));
    const read = { bytes, from: at, length: end - at, name };
    if (index < maxCachedNames) {
      this.#names[index] = read;
    }
    return read;
  }
}

/**
 * Whether the text contains the cached name at a position. The name ends with a quote, so a longer name does not match.
 */
function matchesAt(bytes: Buffer, cached: CachedName, at: number): boolean {
  const { bytes: cachedBytes, from, length } = cached;
  let index = 0;
  while (index < length && cachedBytes[from + index] === bytes[at + index]) {
    index += 1;
  }
  return index === length;
}

export const tooManyItems = (itemsMax: number): RequestError =>
  new RequestError(413, `more than ${itemsMax} items in one list; send less in one request`);
