import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { frameKind, readSegment, saltOf } from "./spool-format.ts";
import type { Segment } from "./spool-segment.ts";

/** A tape as it is on disk. */
export interface StoredTape {
  /** Records one after another, as on a tape. */
  readonly body: Uint8Array;
  readonly records: number;
}

export type SpoolTrouble =
  | "spoolDamaged"
  | "spoolNewer"
  | "spoolRefused"
  | "spoolUnsynced"
  | "spoolUnreadable"
  | "spoolUnwritable";

/** What a segment holds. */
export interface SegmentContent {
  readonly tapes: StoredTape[];
  /** It holds something that can't be read: kept for a newer version, or for a person. */
  readonly isKept: boolean;
}

/** A file longer than this was not written by a spool. */
const longestRead = 2_147_483_647;
/** Size of a tape that is joined of single records. */
const joinedBytes = 1_048_576;

/**
 * Reads all frames whose checksums are right, and reports the others.
 *
 * @throws the file system's error, such as that the file was removed.
 */
export async function readTapes(
  { folder, name, bytes }: Segment,
  onTrouble: (kind: SpoolTrouble, message: string) => void,
): Promise<SegmentContent> {
  if (bytes > longestRead) {
    throw new RangeError("it is too long for a segment");
  }
  const file = await readFile(join(folder, name));
  const tapes: StoredTape[] = [];
  const journal: Buffer[] = [];
  let isKept = false;
  for (const part of readSegment(file, saltOf(name) ?? 0)) {
    if (part.is === "newer") {
      isKept = true;
      onTrouble("spoolNewer", `${name} has a tape of format version ${part.version}`);
    } else if (part.is !== "frame") {
      isKept ||= part.is === "damaged";
      onTrouble("spoolDamaged", `${name}: ${part.bytes} bytes at ${part.at} are ${part.is}`);
    } else if (part.kind === frameKind.journal) {
      journal.push(part.body);
    } else if (part.kind === frameKind.records) {
      tapes.push({ body: part.body, records: part.records });
    }
  }
  tapes.push(...joined(journal));
  return { tapes, isKept };
}

/** Records that were written one by one, as tapes. */
function* joined(records: readonly Buffer[]): Generator<StoredTape> {
  let from = 0;
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    bytes += record.length;
    if (bytes >= joinedBytes || index === records.length - 1) {
      const parts = records.slice(from, index + 1);
      yield { body: Buffer.concat(parts), records: parts.length };
      from = index + 1;
      bytes = 0;
    }
  }
}
