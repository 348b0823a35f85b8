import { createHash } from "node:crypto";
import { headOffset, recordHeadBytes } from "../model/records/tape-format.ts";
import { TapePool } from "../tracing/tape/tape.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import { TapeWriter } from "../tracing/tape/tape-writer.ts";
import { ValueWriter } from "../tracing/tape/value-writer.ts";
import type { RecordedRow } from "./checkpoint.ts";
import { rowField } from "./row-format.ts";

/** Writes one row as a record on the tape. The function begins the record; its caller ends it. */
export type EncodeRow = (item: unknown, row: number) => void;

/** A tape, which is a buffer of encoded rows, with the number and the digest of its last row. */
export interface WrittenTape {
  readonly tape: Tape;
  readonly last: RecordedRow;
}

/** Options of {@link RowWriter}. */
export interface RowWriterOptions {
  readonly tapeBytes: number;
  /** Number of tapes that are kept for reuse. */
  readonly tapes: number;
  /** Creates the function that encodes rows. */
  readonly createEncoder: (out: TapeWriter) => EncodeRow;
  /** Called with a tape that became full in the middle of a row; that row moves to the next tape. */
  readonly onFull: (written: WrittenTape) => void;
}

/**
 * Encodes rows onto tapes, which are buffers. A row is copied during the call, so later changes to the object have no
 * effect.
 */
export class RowWriter {
  readonly #options: RowWriterOptions;
  readonly #pool: TapePool;
  readonly #writer: TapeWriter;
  readonly #encode: EncodeRow;
  #tape: Tape;
  #lastRow = 0;

  constructor(options: RowWriterOptions) {
    const { tapeBytes, tapes, createEncoder } = options;
    this.#options = options;
    this.#pool = new TapePool(tapeBytes, tapes);
    this.#tape = this.#pool.take(0);
    this.#writer = new TapeWriter(this.#tape, (minBytes) => this.#replaceFullTape(minBytes));
    this.#encode = createEncoder(this.#writer);
  }

  get rows(): number {
    return this.#tape.records;
  }

  get bytes(): number {
    return this.#tape.usedBytes;
  }

  /** Writes one row. If the encoder throws, nothing of the row is left on the tape. */
  add(item: unknown, row: number): void {
    this.#writer.continueOn(this.#tape);
    try {
      this.#encode(item, row);
      this.#writer.endRecord();
      this.#lastRow = row;
    } catch (error) {
      this.#writer.abandonRecord();
      throw error;
    }
  }

  /** Returns the current tape and continues with an empty one. */
  cut(): WrittenTape {
    const written = { tape: this.#tape, last: this.#describeLastRow(this.#tape) };
    this.#tape = this.#pool.take(0);
    return written;
  }

  /** Returns a tape to the pool for reuse. */
  release(tape: Tape): void {
    this.#pool.release(tape);
  }

  #replaceFullTape(minBytes: number): Tape {
    const { tapeBytes, onFull } = this.#options;
    const capacity = minBytes > tapeBytes ? Math.ceil(minBytes * 1.5) + tapeBytes : tapeBytes;
    const nextTape = this.#pool.take(capacity);
    const fullTape = this.#tape;
    this.#tape = nextTape;
    if (fullTape.records > 0) {
      onFull({ tape: fullTape, last: this.#describeLastRow(fullTape) });
    } else {
      this.#pool.release(fullTape);
    }
    return nextTape;
  }

  #describeLastRow(tape: Tape): RecordedRow {
    let lastRecordOffset = 0;
    for (
      let offset = 0;
      offset < tape.usedBytes;
      offset += tape.view.getUint32(offset + headOffset.length, true)
    ) {
      lastRecordOffset = offset;
    }
    // The digest leaves out the record's head, because the outcome is written into the head.
    const fields = tape.bytes.subarray(lastRecordOffset + recordHeadBytes, tape.usedBytes);
    const digest = createHash("sha256").update(fields).digest("base64url").slice(0, 22);
    return { row: this.#lastRow, digest };
  }
}

/** Writes the fields of rows with a tape writer. */
export class RowFields {
  readonly #out: TapeWriter;
  readonly #values: ValueWriter;

  constructor(out: TapeWriter) {
    this.#out = out;
    this.#values = new ValueWriter(out);
  }

  beginRow(): void {
    this.#out.beginRecord("post");
  }

  /** Writes a field with any value; nothing if the value is `undefined`. */
  writeValue(code: number, value: unknown): void {
    if (value !== undefined) {
      const fieldStart = this.#out.beginField(code);
      this.#values.write(value, code);
      this.#out.endField(fieldStart);
    }
  }

  /** Writes a field of ASCII text. */
  writeAscii(code: number, text: string | undefined): void {
    if (text !== undefined) {
      this.#out.writeAsciiField(code, text);
    }
  }

  writeDouble(code: number, value: number): void {
    this.#out.writeDoubleField(code, value);
  }

  writeAttachment(name: string, mimeType: string, data: Uint8Array): void {
    const fieldStart = this.#out.beginField(rowField.attachment);
    this.#out.writeText(name);
    this.#values.write([mimeType, data]);
    this.#out.endField(fieldStart);
  }
}
