import { tag } from "../../model/records/tape-format.ts";

/** Texts of so many units are kept as they are on a tape: with the tag, two moves of eight bytes. */
export const keptUnits = 15;
/** Longer keys are not known: what is kept has to stay small. */
const longestKey = 64;
/** Keys that one writer knows: those of a program's code, not those that data has. */
const keyLimit = 1_024;
/** How often another short text may become the one that is expected below a key. */
const patience = 16;

/**
 * A key that was written before, or a short text: with its bytes on a tape, and with what followed it the last time.
 * Programs record objects of the same few shapes, so the next key is mostly the expected one; comparing
 * two keys and moving their bytes costs a fifth of writing them letter by letter.
 */
export class KnownText {
  readonly text: string;
  /** Bytes on the tape, the tag included; 0 where they are not kept. */
  readonly size: number;
  /** These bytes, as little-endian numbers of 64 bits: as the text is ASCII, none of them is a NaN. */
  readonly bytes0: number;
  readonly bytes8: number;
  /** The key that came behind this one. */
  next: KnownText | undefined;
  /** The first key of the object that this one holds. */
  first: KnownText | undefined;
  /** The short text that this one holds. */
  value: KnownText | undefined;
  #changes = 0;

  constructor(text: string) {
    this.text = ownText(text);
    const bytes = Buffer.alloc(keptUnits + 1);
    const { length } = text;
    const isKept = length <= keptUnits && Buffer.byteLength(text) === length;
    this.size = isKept ? 1 + length : 0;
    bytes[0] = tag.shortText | length;
    bytes.write(text, 1);
    this.bytes0 = bytes.readDoubleLE(0);
    this.bytes8 = bytes.readDoubleLE(8);
  }

  /** A short text was written as this key's value: it is expected the next time. */
  expect(value: string): void {
    if (this.#changes < patience && value.length <= keptUnits) {
      this.#changes += 1;
      this.value = new KnownText(value);
    }
  }
}

/**
 * The same text as a string of its own: one that was cut out of a longer text would keep that in memory. As the name of a
 * property it is, like every key and every literal, the one string of its text, which is compared in one step.
 */
const ownText = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text;

/** The keys that a writer knows. */
export class KnownKeys {
  /** Stands for all that are not known: long ones, and those beyond the limit. Its bytes are not kept. */
  readonly others = new KnownText(" ".repeat(keptUnits + 1));
  readonly #keys = new Map<string, KnownText>();
  readonly #places: KnownText[] = [];

  /** Stands for the key that would hold the values of a place, a small number. */
  at(place: number): KnownText {
    return (this.#places[place] ??= new KnownText(""));
  }

  /** The key that follows `before`, or is the first that `holder` has; expected there from now on. */
  learn(key: string, holder: KnownText, before: KnownText | undefined): KnownText {
    const known = this.find(key);
    if (before === undefined) {
      holder.first = known;
    } else {
      before.next = known;
    }
    return known;
  }

  /** A key, or another short text that comes again and again. */
  find(text: string): KnownText {
    const known = this.#keys.get(text);
    if (known !== undefined) {
      return known;
    }
    if (text.length > longestKey || this.#keys.size >= keyLimit) {
      return this.others;
    }
    const learned = new KnownText(text);
    this.#keys.set(learned.text, learned);
    return learned;
  }
}
