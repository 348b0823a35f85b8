import { randomInt } from "node:crypto";
import * as fileSystem from "node:fs";
import type { RefusedRun } from "../../model/records/shipping.ts";
import { frameKind } from "./spool-format.ts";
import type { SpoolOptions } from "./spool-options.ts";
import { OpenSegment } from "./spool-segment.ts";
import { QuarantineFolder } from "./quarantine-folder.ts";

/**
 * Name of the folder for dead letters: records that the server refused or that were abandoned. It is next to the writer
 * directories.
 */
export const deadLetterFolder = "dead";

/** The reason why records became dead letters. */
export interface DeadLetterReason {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The server's reason for each run that it refused. */
  readonly refused: readonly RefusedRun[];
  /** Why the records were abandoned, if the server did not refuse them. */
  readonly reason?: string;
}

/** A segment, which is one file of dead letters, is closed when it has at least this many bytes. */
const segmentBytes = 1_048_576;
/**
 * The sequence number of a segment is the current time in seconds modulo this value. So it has at most eight digits,
 * and the names of segments sort by age for three years.
 */
const sequenceLimit = 100_000_000;

/**
 * Stores records that the server refused or that were abandoned, with the reasons. They are kept for inspection and
 * sent again only by `millrace replay`. Every process writes its own files, called segments. No method throws.
 */
export class DeadLetters {
  readonly #folder: QuarantineFolder;
  readonly #onFault: SpoolOptions["onFault"];
  readonly #maskRecords: SpoolOptions["maskRecords"];
  #segment: OpenSegment | undefined;

  constructor({
    folder,
    quotaBytes,
    onFault,
    maskRecords,
  }: Pick<SpoolOptions, "folder" | "quotaBytes" | "onFault" | "maskRecords">) {
    this.#maskRecords = maskRecords;
    this.#folder = new QuarantineFolder(folder, deadLetterFolder, quotaBytes);
    this.#onFault = onFault;
  }

  /** Stores the sequence of records in `body`, together with the reason why they became dead letters. */
  write(body: Uint8Array, recordCount: number, note: DeadLetterReason): void {
    const noteBytes = Buffer.from(JSON.stringify(note));
    const head = Buffer.alloc(4);
    head.writeUInt32LE(noteBytes.length);
    try {
      this.#maskRecords?.(body, false);
      if (this.#segment?.isGone === true) {
        this.#seal();
      }
      this.#segment ??= this.#open();
      const deadLetter = Buffer.concat([head, noteBytes, body]);
      this.#segment.append(deadLetter, { recordCount, kind: frameKind.refused });
      this.#segment.flush((error) => this.#onFault("spoolUnsynced", error.message));
      if (this.#segment.sizeBytes >= segmentBytes) {
        this.#seal();
      }
    } catch (error) {
      this.#onFault("spoolUnwritable", error instanceof Error ? error.message : String(error));
    }
  }

  close(): void {
    this.#seal();
  }

  #seal(): void {
    this.#segment?.seal();
    this.#segment = undefined;
  }

  #open(): OpenSegment {
    this.#folder.create();
    this.#folder.deleteOldest();
    const sequence = Math.floor(Date.now() / 1_000) % sequenceLimit;
    const id = { sequence, salt: randomInt(2 ** 32) };
    return new OpenSegment(this.#folder.folder, id, fileSystem);
  }
}

/**
 * Parses the body of a frame in a file of dead letters.
 *
 * @throws SyntaxError or RangeError if it is malformed.
 */
export function parseDeadLetter(body: Buffer): {
  readonly note: DeadLetterReason;
  readonly records: Buffer;
} {
  const end = 4 + body.readUInt32LE(0);
  const note = JSON.parse(body.toString("utf8", 4, end)) as DeadLetterReason;
  return { note, records: body.subarray(end) };
}
