import {
  fieldHeadBytes,
  headOffset,
  longestShortText,
  recordHeadBytes,
  tag,
} from "../../model/records/tape-format.ts";
import type { TapeBytes } from "./tagged-values.ts";

/** Nesting levels that are written. A deeper value is replaced by a marker. */
const depthLimit = 500;
const minCapacity = 4_096;
/** Maximum number of bytes of a number with its tag. */
const numberBytes = 9;

/** Writes records with fields and tagged values into memory that grows, in the format of a tape. */
export class RecordWriter implements TapeBytes {
  bytes: Buffer;
  view: DataView;
  #length = 0;
  #recordStart = 0;

  constructor(capacity: number) {
    this.bytes = Buffer.alloc(0);
    this.view = new DataView(new ArrayBuffer(0));
    this.#grow(Math.max(capacity, minCapacity));
  }

  /** Number of bytes that were written. */
  get length(): number {
    return this.#length;
  }

  /** Begins a record with a copy of another record's head, the fixed bytes at its start. */
  beginRecord(head: Uint8Array): void {
    this.#recordStart = this.#length;
    this.writeRaw(head);
  }

  endRecord(): void {
    this.view.setUint32(
      this.#recordStart + headOffset.length,
      this.#length - this.#recordStart,
      true,
    );
  }

  /** Discards the fields of the record that were written since {@link beginRecord}. */
  clearRecord(): void {
    this.#length = this.#recordStart + recordHeadBytes;
  }

  /** Begins a field. Returns its position, to pass to {@link endField}. */
  beginField(code: number): number {
    this.#ensureCapacity(fieldHeadBytes);
    const start = this.#length;
    this.bytes[start] = code;
    this.#length += fieldHeadBytes;
    return start;
  }

  endField(start: number): void {
    this.view.setUint32(start + 1, this.#length - start - fieldHeadBytes, true);
  }

  /** Writes a complete field with a plain JSON value. */
  writeField(code: number, value: unknown): void {
    const start = this.beginField(code);
    this.writeValue(value);
    this.endField(start);
  }

  /** Copies bytes as they are. */
  writeRaw(bytes: Uint8Array): void {
    this.#ensureCapacity(bytes.length);
    this.bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  writeTag(value: number): void {
    this.#ensureCapacity(1);
    this.bytes[this.#length++] = value;
  }

  /** Writes a plain JSON value. Binary data is written as such. */
  writeValue(value: unknown, depth = 0): void {
    if (typeof value === "string") {
      this.writeText(value);
    } else if (typeof value === "number") {
      this.#writeNumber(value);
    } else if (typeof value === "boolean") {
      this.writeTag(value ? tag.true : tag.false);
    } else if (typeof value !== "object" || value === null) {
      this.writeTag(tag.null);
    } else if (depth >= depthLimit) {
      this.writeText(`[too deep: ${depthLimit} levels]`);
    } else if (Array.isArray(value)) {
      this.writeTag(tag.array);
      for (const item of value) {
        this.writeValue(item, depth + 1);
      }
      this.writeTag(tag.end);
    } else if (value instanceof Uint8Array) {
      this.#writeBytes(value);
    } else {
      this.writeTag(tag.object);
      for (const [key, item] of Object.entries(value)) {
        if (item !== undefined) {
          this.writeText(key);
          this.writeValue(item, depth + 1);
        }
      }
      this.writeTag(tag.end);
    }
  }

  writeText(text: string): void {
    if (!text.isWellFormed()) {
      this.#writeWideText(text);
      return;
    }
    const size = Buffer.byteLength(text);
    this.#ensureCapacity(5 + size);
    if (size <= longestShortText) {
      this.bytes[this.#length] = tag.shortText | size;
      this.#length += 1;
    } else {
      this.bytes[this.#length] = tag.text;
      this.view.setUint32(this.#length + 1, size, true);
      this.#length += 5;
    }
    this.#length += this.bytes.write(text, this.#length);
  }

  /** Writes a text as UTF-16, because UTF-8 can't represent a text that is not well-formed Unicode. */
  #writeWideText(text: string): void {
    const size = 2 * text.length;
    this.#ensureCapacity(5 + size);
    this.bytes[this.#length] = tag.wideText;
    this.view.setUint32(this.#length + 1, size, true);
    this.#length += 5 + this.bytes.write(text, this.#length + 5, "utf16le");
  }

  #writeNumber(value: number): void {
    if (!Number.isFinite(value)) {
      this.writeText(String(value));
      return;
    }
    this.#ensureCapacity(numberBytes);
    if ((value | 0) === value) {
      this.bytes[this.#length] = tag.int;
      this.view.setInt32(this.#length + 1, value, true);
      this.#length += 5;
    } else {
      this.bytes[this.#length] = tag.double;
      this.view.setFloat64(this.#length + 1, value, true);
      this.#length += numberBytes;
    }
  }

  #writeBytes(data: Uint8Array): void {
    this.writeTag(tag.bytes);
    this.writeText("Uint8Array");
    this.#ensureCapacity(4 + data.length);
    this.view.setUint32(this.#length, data.length, true);
    this.#length += 4;
    this.writeRaw(data);
  }

  #ensureCapacity(count: number): void {
    const needed = this.#length + count;
    if (needed > this.bytes.length) {
      this.#grow(Math.max(needed, 2 * this.bytes.length));
    }
  }

  #grow(capacity: number): void {
    const grown = Buffer.alloc(capacity);
    this.bytes.copy(grown, 0, 0, this.#length);
    this.bytes = grown;
    this.view = new DataView(grown.buffer, grown.byteOffset, grown.length);
  }
}
