/**
 * A text in a payload that other payloads may contain, too, so that it can be stored once for all of them. Only content
 * that a client sends in chunks is marked as such (`model/options/content-deduplication`): the client has already
 * computed its hashes, so the server need not hash any payload.
 */
export interface ShareableText {
  /** Range of the text in the payload. */
  readonly start: number;
  readonly end: number;
  /**
   * Hashes of the texts that this one begins with, the shortest first. The last one is the hash of the text itself. A
   * list has a hash for each of its beginnings that the client named or extended, any other text only its own.
   */
  readonly hashes: readonly string[];
  /** For each hash, where its text ends in the payload. */
  readonly ends: readonly number[];
  /** Whether the client referred to content that it had sent before. */
  readonly isRepeated: boolean;
}

/** Shorter texts remain in their payload: sharing them would save little space, and each would need a row. */
export const minSharedBytes = 256;

/**
 * A text of at least this length is shared when it is first received. A shorter one is only shared if it repeats, so
 * that content that never repeats remains in its payload.
 */
export const minSharedAtOnceBytes = 16_384;

/** Maximum number of beginnings of a list that are searched in the store. The longest ones are chosen. */
export const maxBeginnings = 1_024;

/** Maximum number of shared texts of one payload. The longest ones are chosen. */
export const maxSharedTexts = 16;

/**
 * The kinds of hashes. A list and a text never have the same hash, even if a client crafts their contents for that
 * purpose.
 */
export type HashKind = "list" | "text";
const kindLetters: Readonly<Record<HashKind, string>> = { list: "L", text: "T" };

/** Converts a digest of the wire format, a string with one character per byte, to a hash that is stored. */
export const toHash = (kind: HashKind, digest: string): string =>
  kindLetters[kind] + Buffer.from(digest, "latin1").toString("base64url");

/** Returns the kind of a stored hash; `undefined` if it has none. */
export const toHashKind = (hash: string): HashKind | undefined =>
  (["list", "text"] as const).find((kind) => hash.startsWith(kindLetters[kind]));

/** Returns a text with its positions increased by a number of bytes, for a payload in which something precedes it. */
export const moveText = (text: ShareableText, bytes: number): ShareableText => ({
  ...text,
  start: text.start + bytes,
  end: text.end + bytes,
  ends: text.ends.map((end) => end + bytes),
});

/**
 * Selects the texts that are worth sharing, in their order. Texts whose range does not begin and end between two
 * characters are left out: neither they nor what remains would be UTF-8.
 */
export function selectShareable(
  texts: readonly ShareableText[],
  payload: Uint8Array,
): readonly ShareableText[] {
  const isBoundary = (at: number): boolean => ((payload[at] ?? 0) & 0xc0) !== 0x80;
  const isWorthwhile = ({ start, end, isRepeated, hashes }: ShareableText): boolean =>
    end - start >= (isRepeated || hashes.length > 1 ? minSharedBytes : minSharedAtOnceBytes);
  const selected = texts.filter(
    (text) => isWorthwhile(text) && isBoundary(text.start) && text.ends.every(isBoundary),
  );
  if (selected.length <= maxSharedTexts) {
    return selected;
  }
  const longest = new Set(
    selected
      .toSorted((left, right) => right.end - right.start - (left.end - left.start))
      .slice(0, maxSharedTexts),
  );
  return selected.filter((text) => longest.has(text));
}
