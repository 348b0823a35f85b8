import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { frameKind, readSegment, parseSalt } from "./spool-format.ts";
import type { Segment } from "./spool-segment.ts";

/** A tape, which is a buffer of recorded runs, that was read from disk. */
export interface StoredTape {
  /** A sequence of records, in the same format as in memory. */
  readonly body: Uint8Array;
  readonly recordCount: number;
}

/** The names under which faults of a spool are counted in `stats().warnings`. */
export type SpoolFaultKind =
  | "spoolDamaged"
  | "spoolNewer"
  | "spoolRefused"
  | "spoolUnsynced"
  | "spoolUnreadable"
  | "spoolUnwritable";

/** What was read from a segment, which is one file of a spool. */
export interface SegmentContent {
  readonly tapes: StoredTape[];
  /**
   * Whether the file must be kept, because a part of it can't be read: a newer version of this code, or a person, may
   * be able to read it.
   */
  readonly mustKeep: boolean;
}

/** Maximum bytes of a segment file. A longer file was not written by a spool. */
const maxFileBytes = 2_147_483_647;
/** Records that were written one by one are joined into tapes (buffers of records) of about this many bytes. */
const tapeBytes = 1_048_576;

/**
 * Reads the tapes from all valid frames of a segment, and reports the invalid ones.
 *
 * @throws the file system's error, for example if the file was removed.
 */
export async function readTapes(
  { folder, name, sizeBytes }: Segment,
  onFault: (kind: SpoolFaultKind, message: string) => void,
): Promise<SegmentContent> {
  if (sizeBytes > maxFileBytes) {
    throw new RangeError("The file is too long for a segment");
  }
  const file = await readFile(join(folder, name));
  const tapes: StoredTape[] = [];
  const journalRecords: Buffer[] = [];
  let mustKeep = false;
  for (const part of readSegment(file, parseSalt(name) ?? 0)) {
    if (part.is === "newer") {
      mustKeep = true;
      onFault(
        "spoolNewer",
        `${name} contains recorded runs in format version ${part.version}, which only a newer version of Millrace can read`,
      );
    } else if (part.is !== "frame") {
      mustKeep ||= part.is === "damaged";
      const problem = part.is === "torn" ? "incomplete" : "damaged";
      onFault("spoolDamaged", `${name}: ${part.bytes} bytes at offset ${part.at} are ${problem}`);
    } else if (part.kind === frameKind.journal) {
      journalRecords.push(part.body);
    } else if (part.kind === frameKind.records) {
      tapes.push({ body: part.body, recordCount: part.records });
    }
  }
  tapes.push(...joinJournal(journalRecords));
  return { tapes, mustKeep };
}

/** Joins records that were written to disk one by one into tapes. */
function* joinJournal(records: readonly Buffer[]): Generator<StoredTape> {
  let firstIndex = 0;
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    bytes += record.length;
    if (bytes >= tapeBytes || index === records.length - 1) {
      const tapeRecords = records.slice(firstIndex, index + 1);
      yield { body: Buffer.concat(tapeRecords), recordCount: tapeRecords.length };
      firstIndex = index + 1;
      bytes = 0;
    }
  }
}
