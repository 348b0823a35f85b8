import { tag } from "../../model/records/tape-format.ts";

/** Texts of so many units are kept as they are on a tape: with the tag, two moves of eight bytes. */
export const cachedUnits = 15;
/** Longer keys are not known: what is kept has to stay small. */
const longestKey = 64;
/** Most keys that one writer caches: enough for those of a program's code, not for those of its data. */
const keyLimit = 1_024;
/** How often another short text may become the one that is expected below a key. */
const patience = 16;

/**
 * A key that was written before, or a short text: with its bytes on a tape, and with what followed it the last time.
 * Programs record objects of the same few shapes, so the next key is mostly the expected one; comparing
 * two keys and moving their bytes costs a fifth of writing them letter by letter.
 */
export class CachedString {
  readonly text: string;
  /** Bytes on the tape, the tag included; 0 where they are not kept. */
  readonly size: number;
  /** These bytes, as little-endian numbers of 64 bits: as the text is ASCII, none of them is a NaN. */
  readonly bytes0: number;
  readonly bytes8: number;
  /** The key that came behind this one. */
  next: CachedString | undefined;
  /** The first key of the object that this one holds. */
  first: CachedString | undefined;
  /** The short text that this one holds. */
  value: CachedString | undefined;
  #changes = 0;

  constructor(text: string) {
    this.text = ownText(text);
    const bytes = Buffer.alloc(cachedUnits + 1);
    const { length } = text;
    const isKept = length <= cachedUnits && Buffer.byteLength(text) === length;
    this.size = isKept ? 1 + length : 0;
    bytes[0] = tag.shortText | length;
    bytes.write(text, 1);
    this.bytes0 = bytes.readDoubleLE(0);
    this.bytes8 = bytes.readDoubleLE(8);
  }

  /** A short text was written as this key's value: it is expected the next time. */
  expect(value: string): void {
    if (this.#changes < patience && value.length <= cachedUnits) {
      this.#changes += 1;
      this.value = new CachedString(value);
    }
  }
}

/**
 * The same text as a string of its own: one that was cut out of a longer text would keep that in memory. As the name of a
 * property it is, like every key and every literal, the one string of its text, which is compared in one step.
 */
const ownText = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text;

/** The keys that a writer has cached. */
export class KeyCache {
  /** Stands for all that are not known: long ones, and those beyond the limit. Its bytes are not kept. */
  readonly others = new CachedString(" ".repeat(cachedUnits + 1));
  readonly #keys = new Map<string, CachedString>();
  readonly #positions: CachedString[] = [];

  /** Stands for the key that would hold the values of a place, a small number. */
  at(position: number): CachedString {
    return (this.#positions[position] ??= new CachedString(""));
  }

  /** The key that follows `before`, or is the first that `holder` has; expected there from now on. */
  learn(key: string, holder: CachedString, before: CachedString | undefined): CachedString {
    const cached = this.find(key);
    if (before === undefined) {
      holder.first = cached;
    } else {
      before.next = cached;
    }
    return cached;
  }

  /** A key, or another short text that comes again and again. */
  find(text: string): CachedString {
    const cached = this.#keys.get(text);
    if (cached !== undefined) {
      return cached;
    }
    if (text.length > longestKey || this.#keys.size >= keyLimit) {
      return this.others;
    }
    const learned = new CachedString(text);
    this.#keys.set(learned.text, learned);
    return learned;
  }
}
