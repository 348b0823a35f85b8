import { tag } from "../../model/records/tape-format.ts";

/**
 * Longest text whose encoded bytes are cached, in UTF-16 units. With its tag, the byte that precedes the text, it is
 * copied in two moves of eight bytes.
 */
export const longestCachedText = 15;
/** Longer keys are not cached, so that the cache stays small. In UTF-16 units. */
const maxKeyUnits = 64;
/**
 * Maximum number of keys that one writer caches. It is enough for keys in a program's code, but bounds keys that come
 * from data.
 */
const keyLimit = 1_024;
/** How often the expected value of a key is replaced before its values are considered too different to predict. */
const changeLimit = 16;

/**
 * A cached object key or short text: its encoded bytes, and the key or value that followed it the last time. Programs
 * record objects of the same few shapes, so the next key is usually the expected one. Comparing two keys and copying
 * the cached bytes costs a fifth of encoding the key character by character.
 */
export class CachedString {
  readonly text: string;
  /** Length in bytes of the encoded text with its tag; 0 if the bytes are not cached. */
  readonly size: number;
  /**
   * The encoded bytes 0 to 7 as a little-endian 64-bit float. A cached text is ASCII, so neither this float nor the
   * next one is a NaN, whose bits could change on the way through a JavaScript number.
   */
  readonly firstEightBytes: number;
  /** The encoded bytes 8 to 15. */
  readonly lastEightBytes: number;
  /** The key that last followed this one in an object. */
  nextKey: CachedString | undefined;
  /** The first key of the object that was last written as this key's value. */
  firstKey: CachedString | undefined;
  /** The short text that is expected as this key's value. */
  expectedValue: CachedString | undefined;
  #changes = 0;

  constructor(text: string) {
    this.text = internText(text);
    const bytes = Buffer.alloc(longestCachedText + 1);
    const { length } = text;
    const isCacheable = length <= longestCachedText && Buffer.byteLength(text) === length;
    this.size = isCacheable ? 1 + length : 0;
    bytes[0] = tag.shortText | length;
    bytes.write(text, 1);
    this.firstEightBytes = bytes.readDoubleLE(0);
    this.lastEightBytes = bytes.readDoubleLE(8);
  }

  /** Stores a short text that was written as this key's value. The same value is expected the next time. */
  expectValue(value: string): void {
    if (this.#changes < changeLimit && value.length <= longestCachedText) {
      this.#changes += 1;
      this.expectedValue = new CachedString(value);
    }
  }
}

/**
 * Returns the internalized copy of a string. V8 internalizes property names, so two equal ones are the same string and
 * compare in one step. A copy is also needed because a substring would keep in memory the longer text that it comes
 * from.
 */
const internText = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text;

export class KeyCache {
  /**
   * Used in place of every key that is not cached: long keys, and new ones when the cache is full. It has no cached
   * bytes.
   */
  readonly uncached = new CachedString(" ".repeat(longestCachedText + 1));
  readonly #keys = new Map<string, CachedString>();
  readonly #parentKeysByShape: CachedString[] = [];

  /**
   * Returns the entry that takes the place of a parent key for a value that is not inside an object. `shapeId` is a
   * small number: values with the same number are expected to have the same shape.
   */
  entryFor(shapeId: number): CachedString {
    return (this.#parentKeysByShape[shapeId] ??= new CachedString(""));
  }

  /**
   * Looks up a key. From now on the key is expected after the key `previous` or, if there is no previous key, as the
   * first key of the object under `parentKey`.
   */
  addFollowing(
    key: string,
    parentKey: CachedString,
    previous: CachedString | undefined,
  ): CachedString {
    const cached = this.find(key);
    if (previous === undefined) {
      parentKey.firstKey = cached;
    } else {
      previous.nextKey = cached;
    }
    return cached;
  }

  /** Returns the cache entry for a key or another text that repeats often, and adds it if there is space. */
  find(text: string): CachedString {
    const cached = this.#keys.get(text);
    if (cached !== undefined) {
      return cached;
    }
    if (text.length > maxKeyUnits || this.#keys.size >= keyLimit) {
      return this.uncached;
    }
    const added = new CachedString(text);
    this.#keys.set(added.text, added);
    return added;
  }
}
