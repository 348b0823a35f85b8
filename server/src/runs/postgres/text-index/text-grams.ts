import { lowerAscii } from "../../search-texts.ts";

/**
 * Number of possible hashes of a trigram, which consists of three consecutive UTF-16 units of a text. A text of a
 * hundred kilobytes has about ten thousand different trigrams, so most of the hashes remain unused.
 */
const gramValues = 65_536;

/** A hash is stored as a `smallint`, which is signed. */
const gramOffset = 32_768;

/**
 * Maximum number of trigrams of a text that are looked up in the index: further ones would hardly narrow the result.
 */
const maxSearchedGrams = 12;

/** Matches characters that may be replaced when a text is stored. Only the text between them is searched. */
const differingCharactersPattern = /[\0\p{Surrogate}\uFFFD-\uFFFF]+/u;

const hashGram = (first: number, second: number, third: number): number =>
  (Math.imul(Math.imul(first, 0x9e_37) + second, 0x85_eb) + Math.imul(third, 0xc2_b3)) >>> 0;

const toGram = (text: string, start: number): number => {
  const hash = hashGram(
    text.charCodeAt(start),
    text.charCodeAt(start + 1),
    text.charCodeAt(start + 2),
  );
  return (hash ^ (hash >>> 16)) & (gramValues - 1);
};

/** The hashes of the trigrams of several texts, without regard to the case of ASCII letters. */
export class GramSet {
  readonly #isPresent = new Uint8Array(gramValues);

  add(text: string): void {
    const lower = lowerAscii(text);
    for (let start = 0; start + 3 <= lower.length; start += 1) {
      this.#isPresent[toGram(lower, start)] = 1;
    }
  }

  /** The hashes in ascending order, as they are stored. */
  list(): readonly number[] {
    const grams: number[] = [];
    this.#isPresent.forEach((isPresent, gram) => {
      if (isPresent === 1) {
        grams.push(gram - gramOffset);
      }
    });
    return grams;
  }
}

/**
 * Returns the stored form of the hashes of some trigrams of a searched text. Every text that contains the searched text
 * has all of them. If there are none, the index can't narrow down the search.
 */
export function listSearchedGrams(text: string): readonly number[] {
  const grams = new Set<number>();
  for (const segment of lowerAscii(text).split(differingCharactersPattern)) {
    for (let start = 0; start + 3 <= segment.length; start += 1) {
      grams.add(toGram(segment, start) - gramOffset);
    }
  }
  const all = [...grams];
  const step = Math.max(1, all.length / maxSearchedGrams);
  return Array.from({ length: Math.min(all.length, maxSearchedGrams) }, (_, index) =>
    Number(all[Math.floor(index * step)]),
  );
}
