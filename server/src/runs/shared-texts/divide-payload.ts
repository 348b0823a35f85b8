import { minSharedAtOnceBytes, minSharedBytes } from "./shareable-text.ts";
import type { ShareableText } from "./shareable-text.ts";

/** A shared text that is not stored yet. */
export interface NewText {
  readonly hash: string;
  /** Hash of the text that this one continues; absent if the whole text must be stored. */
  readonly base: string | undefined;
  /** Length of the chain of texts that this one continues; 0 for a text that is stored whole. */
  readonly depth: number;
  /** Range of the payload that must be stored: the text without its base. */
  readonly start: number;
  readonly end: number;
}

/** Range of the payload that is stored as it is, and hash of the shared text that follows it, if there is one. */
export interface PayloadPart {
  readonly start: number;
  readonly end: number;
  readonly hash?: string;
}

/** A payload, divided into texts that it shares with others and the parts between them. */
export interface DividedPayload {
  readonly parts: readonly PayloadPart[];
  /** The texts to store before the payload, each after its base. */
  readonly added: readonly NewText[];
}

/**
 * Maximum number of texts in a chain in which each text continues the one before. Reading the last one takes as many
 * steps. A longer list starts a new chain, so a conversation of thousands of turns is stored whole a few times.
 */
export const maxDepth = 256;

/**
 * Divides a payload. `depths` contains the depth of each stored text by its hash; the depths of new texts are added to
 * it. Returns `undefined` if the payload shares no text.
 */
export function dividePayload(
  bytes: number,
  texts: readonly ShareableText[],
  depths: Map<string, number>,
): DividedPayload | undefined {
  const parts: PayloadPart[] = [];
  const added: NewText[] = [];
  let position = 0;
  for (const text of texts) {
    const hash = text.hashes.at(-1);
    if (hash === undefined) {
      continue;
    }
    if (!depths.has(hash)) {
      const newText = toNewText(text, hash, depths);
      if (newText === undefined) {
        continue;
      }
      added.push(newText);
      depths.set(hash, newText.depth);
    }
    parts.push({ start: position, end: text.start, hash });
    position = text.end;
  }
  return parts.length === 0
    ? undefined
    : { parts: [...parts, { start: position, end: bytes }], added };
}

/** Returns `undefined` if the text is not worth sharing. It then remains in its payload. */
function toNewText(
  { hashes, ends, start, end, isRepeated }: ShareableText,
  hash: string,
  depths: ReadonlyMap<string, number>,
): NewText | undefined {
  const baseIndex = hashes.findLastIndex(
    (beginning, index) =>
      (depths.get(beginning) ?? maxDepth) < maxDepth &&
      (ends[index] ?? start) - start >= minSharedBytes,
  );
  const base = hashes[baseIndex];
  if (base !== undefined) {
    return {
      hash,
      base,
      depth: (depths.get(base) ?? 0) + 1,
      start: ends[baseIndex] ?? start,
      end,
    };
  }
  return isRepeated || end - start >= minSharedAtOnceBytes
    ? { hash, base: undefined, depth: 0, start, end }
    : undefined;
}

/** Returns the bytes of a payload that are in none of its shared texts. */
export const readRest = (payload: Uint8Array, { parts }: DividedPayload): Buffer =>
  Buffer.concat(parts.map(({ start, end }) => payload.subarray(start, end)));

/**
 * Encodes as JSON how a payload is assembled: its size, then a list for each part with the start and the length of the
 * part in the result of {@link readRest}, and the reference of the shared text that follows it. Positions are in bytes.
 */
export function encodeParts(
  { parts }: DividedPayload,
  bytes: number,
  toReference: (hash: string) => string | number,
): string {
  let position = 0;
  const lists = parts.map(({ start, end, hash }) => {
    const list = [position, end - start, ...(hash === undefined ? [] : [toReference(hash)])];
    position += end - start;
    return list;
  });
  return JSON.stringify([bytes, ...lists]);
}
