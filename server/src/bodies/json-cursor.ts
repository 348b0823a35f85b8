import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import {
  throwJsonError,
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
 * Receives the name of a member, and the positions of its value and of its name. Must return the position after the
 * value, which {@link JsonCursor.skip} determines.
 */
type OnMember = (name: string, valueStart: number, nameStart: number) => number;
/** Receives the position of an item or of the whole value. Must return the position after it. */
type OnItem = (itemStart: number) => number;

/** A decoded name of a member, and where its JSON text is in `bytes`, including the quotes. */
interface CachedName {
  readonly bytes: Buffer;
  readonly start: number;
  readonly length: number;
  readonly name: string;
}

/**
 * The names of members by their index in an object. Objects of one list mostly have the same members in the same order,
 * and comparing a name with the cached name takes less time than decoding it. The cache refers to the JSON texts in
 * which it found the names, so it keeps these texts in memory.
 */
export type NameCache = CachedName[];

/** Maximum number of members of an object whose names are cached. Names of further members are decoded each time. */
const maxCachedNames = 64;

/**
 * Walks through JSON text without creating values: checks the grammar (RFC 8259) and finds where values begin and
 * end, so that a payload can be stored byte for byte as it was received. The caller must check that the bytes are
 * UTF-8.
 */
export class JsonCursor {
  readonly #text: JsonText;
  readonly #names: NameCache;

  /** @param nameCache - a cache that several texts with similar objects share. */
  constructor(bytes: Buffer, depthMax: number = serverLimits.jsonDepth, nameCache: NameCache = []) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#text = { bytes, view, depthMax };
    this.#names = nameCache;
  }

  /**
   * Checks that the text is exactly one value.
   *
   * @throws JsonError if the text is anything else.
   */
  assertOneValue(): void {
    this.walk((start) => this.skip(start));
  }

  /**
   * Returns the members of the object that the text contains, or only the `wanted` members. A later member replaces
   * an earlier member of the same name.
   */
  readMembers(wanted?: ReadonlySet<string>): Map<string, Buffer> {
    const { bytes } = this.#text;
    const members = new Map<string, Buffer>();
    this.walk((start) =>
      this.walkObject(start, (name, valueStart) => {
        const valueEnd = this.skip(valueStart);
        if (wanted === undefined || wanted.has(name)) {
          members.set(name, bytes.subarray(valueStart, valueEnd));
        }
        return valueEnd;
      }),
    );
    return members;
  }

  /**
   * Returns the items of the array that the text contains.
   *
   * @throws RequestError 413: there are more than `itemsMax` items.
   */
  readItems(itemsMax = Number.POSITIVE_INFINITY): Buffer[] {
    const { bytes } = this.#text;
    const items: Buffer[] = [];
    this.walk((start) =>
      this.walkArray(start, (itemStart) => {
        // Check before adding the item: a small body may contain millions of items.
        if (items.length === itemsMax) {
          throw createTooManyItemsError(itemsMax);
        }
        const itemEnd = this.skip(itemStart);
        items.push(bytes.subarray(itemStart, itemEnd));
        return itemEnd;
      }),
    );
    return items;
  }

  /**
   * Walks through the whole text, which is one value. `onValue` must return the position after that value.
   *
   * @throws JsonError if any text follows the value.
   */
  walk(onValue: OnItem): void {
    const { bytes } = this.#text;
    const position = skipSpace(bytes, onValue(skipSpace(bytes, 0)));
    if (position !== bytes.length) {
      throwJsonError(this.#text, position, "the end of the text");
    }
  }

  /**
   * Returns the position after the value that begins at `start`. `outerDepth` is the number of arrays and objects that
   * the value is nested in.
   */
  skip(start: number, outerDepth = 0): number {
    return skipValue(this.#text, start, outerDepth);
  }

  /** Walks through an object, calls `onMember` for each member, and returns the position after the object. */
  walkObject(start: number, onMember: OnMember): number {
    const text = this.#text;
    const { bytes } = text;
    let position = skipSpace(bytes, this.#expectByte(start, openBrace, "an object"));
    if (bytes[position] === closeBrace) {
      return position + 1;
    }
    for (let index = 0; ; index += 1) {
      const { name, length } = this.#readName(position, index);
      position = skipSpace(bytes, onMember(name, skipColon(text, position + length), position));
      if (!hasComma(text, position, closeBrace)) {
        return position + 1;
      }
      position = skipSpace(bytes, position + 1);
    }
  }

  /** Like {@link JsonCursor.walkObject}, for an array and its items. */
  walkArray(start: number, onItem: OnItem): number {
    const text = this.#text;
    const { bytes } = text;
    let position = skipSpace(bytes, this.#expectByte(start, openBracket, "an array"));
    if (bytes[position] === closeBracket) {
      return position + 1;
    }
    for (;;) {
      position = skipSpace(bytes, onItem(position));
      if (!hasComma(text, position, closeBracket)) {
        return position + 1;
      }
      position = skipSpace(bytes, position + 1);
    }
  }

  #expectByte(position: number, byte: number, expected: string): number {
    if (this.#text.bytes[position] !== byte) {
      throwJsonError(this.#text, position, expected);
    }
    return position + 1;
  }

  #readName(position: number, index: number): CachedName {
    const { bytes } = this.#text;
    const cached = this.#names[index];
    if (cached !== undefined && matchesName(bytes, cached, position)) {
      return cached;
    }
    if (bytes[position] !== quote) {
      throwJsonError(this.#text, position, "a name in quotes");
    }
    const end = skipString(this.#text, position);
    const name = decodeText(bytes.subarray(position, end));
    const decodedName = { bytes, start: position, length: end - position, name };
    if (index < maxCachedNames) {
      this.#names[index] = decodedName;
    }
    return decodedName;
  }
}

/**
 * Whether the text contains the cached name at a position. The comparison includes the closing quote, so a longer name
 * does not match.
 */
function matchesName(bytes: Buffer, cached: CachedName, position: number): boolean {
  const { bytes: cachedBytes, start, length } = cached;
  let index = 0;
  while (index < length && cachedBytes[start + index] === bytes[position + index]) {
    index += 1;
  }
  return index === length;
}

/** Creates the error (413) for a list with more than `itemsMax` items. */
export const createTooManyItemsError = (itemsMax: number): RequestError =>
  new RequestError(413, `more than ${itemsMax} items in one list; send less in one request`);
