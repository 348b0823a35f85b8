import { createHash } from "node:crypto";
import { headOffset, recordHead } from "../model/records/tape-format.ts";
import { TapePool } from "../tracing/tape/tape.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import { TapeWriter } from "../tracing/tape/tape-writer.ts";
import { ValueWriter } from "../tracing/tape/value-writer.ts";
import type { RecordedRow } from "./checkpoint.ts";
import { rowField } from "./row-format.ts";

/** Writes one row: from the beginning of its record, which is ended for it. */
export type EncodeRow = (item: unknown, row: number) => void;

/** A tape of rows, and what its last one is. */
export interface WrittenTape {
  readonly tape: Tape;
  readonly last: RecordedRow;
}

export interface RowWriterOptions {
  readonly tapeBytes: number;
  /** Tapes that are kept for reuse. */
  readonly tapes: number;
  /** What writes the rows. */
  readonly encoderOn: (out: TapeWriter) => EncodeRow;
  /** Takes a tape that became full in the middle of a row. */
  readonly onFull: (written: WrittenTape) => void;
}

/** Puts rows onto tapes: what is on a tape is the row as it was, whatever becomes of the object. */
export class RowWriter {
  readonly #options: RowWriterOptions;
  readonly #pool: TapePool;
  readonly #writer: TapeWriter;
  readonly #encode: EncodeRow;
  #open: Tape;
  #lastRow = 0;

  constructor(options: RowWriterOptions) {
    const { tapeBytes, tapes, encoderOn } = options;
    this.#options = options;
    this.#pool = new TapePool(tapeBytes, tapes);
    this.#open = this.#pool.take(0);
    this.#writer = new TapeWriter(this.#open, (atLeast) => this.#next(atLeast));
    this.#encode = encoderOn(this.#writer);
  }

  get rows(): number {
    return this.#open.records;
  }

  get bytes(): number {
    return this.#open.used;
  }

  /** Writes one row. What the encoder throws leaves no trace of it. */
  add(item: unknown, row: number): void {
    this.#writer.use(this.#open);
    try {
      this.#encode(item, row);
      this.#writer.endRecord();
      this.#lastRow = row;
    } catch (error) {
      this.#writer.abandonRecord();
      throw error;
    }
  }

  /** Hands out what was written, and goes on with an empty tape. */
  cut(): WrittenTape {
    const written = { tape: this.#open, last: this.#lastOf(this.#open) };
    this.#open = this.#pool.take(0);
    return written;
  }

  /** Takes a tape back that is done with. */
  give(tape: Tape): void {
    this.#pool.give(tape);
  }

  #next(atLeast: number): Tape {
    const { tapeBytes, onFull } = this.#options;
    const size = atLeast > tapeBytes ? Math.ceil(atLeast * 1.5) + tapeBytes : tapeBytes;
    const next = this.#pool.take(size);
    const full = this.#open;
    this.#open = next;
    if (full.records > 0) {
      onFull({ tape: full, last: this.#lastOf(full) });
    } else {
      this.#pool.give(full);
    }
    return next;
  }

  #lastOf(tape: Tape): RecordedRow {
    let last = 0;
    for (let at = 0; at < tape.used; at += tape.view.getUint32(at + headOffset.length, true)) {
      last = at;
    }
    // Without its head, into which outcomes are written.
    const fields = tape.bytes.subarray(last + recordHead, tape.used);
    const digest = createHash("sha256").update(fields).digest("base64url").slice(0, 22);
    return { row: this.#lastRow, digest };
  }
}

/** The fields of the row that is being written. */
export class RowFields {
  readonly #out: TapeWriter;
  readonly #values: ValueWriter;

  constructor(out: TapeWriter) {
    this.#out = out;
    this.#values = new ValueWriter(out);
  }

  begin(): void {
    this.#out.beginRecord("post");
  }

  /** Any value; none where it is `undefined`. */
  value(code: number, value: unknown): void {
    if (value !== undefined) {
      const mark = this.#out.beginField(code);
      this.#values.write(value, code);
      this.#out.endField(mark);
    }
  }

  /** Plain ASCII. */
  raw(code: number, text: string | undefined): void {
    if (text !== undefined) {
      this.#out.asciiField(code, text);
    }
  }

  double(code: number, value: number): void {
    this.#out.doubleField(code, value);
  }

  attachment(name: string, mimeType: string, data: Uint8Array): void {
    const mark = this.#out.beginField(rowField.attachment);
    this.#out.text(name);
    this.#values.write([mimeType, data]);
    this.#out.endField(mark);
  }
}
