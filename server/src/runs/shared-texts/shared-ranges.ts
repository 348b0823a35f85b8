import { emptyListDigest, listDigest, textDigest } from "millrace/model";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { JsonError } from "../../bodies/json-skip.ts";
import { maxBeginnings, minSharedBytes, toHash, toHashKind } from "./shareable-text.ts";
import type { HashKind, ShareableText } from "./shareable-text.ts";

/** Range of a payload that is stored as a shared text, in bytes. */
export interface SharedRange {
  /** `list`: a list without its closing bracket, which may continue another list. `text`: any other text. */
  readonly kind: HashKind;
  readonly start: number;
  readonly end: number;
}

/** Maximum number of ranges that are listed for a payload. Further texts are copied as parts of their payload. */
export const maxSharedRanges = 256;

/**
 * Reads where the shared texts of a payload are.
 *
 * @param partsJson - the result of the engine's SQL (`sharedRangesSql`, `createSharedRangesSql`): for each part of the
 * payload, how many bytes it has, the hash of the shared text that follows it, and how many bytes that text has with
 * all that it continues
 * @param bytes - the size of the whole payload
 * @returns the ranges in their order; none if the payload is stored as a whole, or if a text is missing
 */
export function readSharedRanges(partsJson: unknown, bytes: number): readonly SharedRange[] {
  if (typeof partsJson !== "string") {
    return [];
  }
  const ranges: SharedRange[] = [];
  let position = 0;
  for (const [rest, hash, length] of JSON.parse(partsJson) as readonly StoredPart[]) {
    const start = position + rest;
    position = start + (length ?? 0);
    const kind = toHashKind(hash ?? "");
    if (kind !== undefined && position > start) {
      ranges.push({ kind, start, end: position });
    }
  }
  return position === bytes ? ranges.slice(0, maxSharedRanges) : [];
}

type StoredPart = readonly [restBytes: number, hash: string | null, textBytes: number | null];

/**
 * Returns the texts in ranges of a payload that another database stored as shared texts, so that this database stores
 * them in the same way.
 *
 * The hashes are computed from the payload, as a client computes them, and are never copied: if a copied hash were
 * wrong, later payloads with this hash would get the wrong text. A wrong range is harmless and only saves less space,
 * because its text is stored with the hash of what it contains. A list that can't be separated into items remains in
 * its payload.
 */
export const toShareableTexts = (
  payload: Uint8Array,
  ranges: readonly SharedRange[],
): readonly ShareableText[] =>
  ranges.flatMap(({ kind, start, end }) => {
    const beginnings =
      kind === "list"
        ? listBeginnings(payload, start, end)
        : [{ digest: textDigest(payload.subarray(start, end)), end }];
    const searched = beginnings
      .filter((beginning) => beginning.end - start >= minSharedBytes)
      .slice(-maxBeginnings);
    return searched.length === 0
      ? []
      : [
          {
            start,
            end,
            hashes: searched.map(({ digest }) => toHash(kind, digest)),
            ends: searched.map((beginning) => beginning.end),
            isRepeated: true,
          },
        ];
  });

/** A beginning of a list: its digest, and where it ends in the payload. */
interface ListBeginning {
  readonly digest: string;
  readonly end: number;
}

/** Lists the beginnings of a list, one for each item, the last one being the list itself. */
function listBeginnings(payload: Uint8Array, start: number, end: number): readonly ListBeginning[] {
  const beginnings: ListBeginning[] = [];
  let digest = emptyListDigest;
  let itemStart = start + 1;
  for (const itemEnd of findItemEnds(payload, start, end)) {
    digest = listDigest(digest, textDigest(payload.subarray(itemStart, itemEnd)));
    beginnings.push({ digest, end: itemEnd });
    itemStart = itemEnd + 1;
  }
  return beginnings;
}

const [comma, openBracket] = Array.from(",[", (character) => character.charCodeAt(0));

/**
 * Finds where the items of a list without a closing bracket end. Returns no ends if the range is not such a list.
 */
function findItemEnds(payload: Uint8Array, start: number, end: number): readonly number[] {
  if (payload[start] !== openBracket) {
    return [];
  }
  const cursor = new JsonCursor(toBuffer(payload));
  const ends: number[] = [];
  try {
    let position = start;
    do {
      position = cursor.skip(position + 1);
      ends.push(position);
    } while (position < end && payload[position] === comma);
    return position === end ? ends : [];
  } catch (cause) {
    if (cause instanceof JsonError) {
      return [];
    }
    throw cause;
  }
}

const toBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
