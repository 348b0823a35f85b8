import type { JsonWriter } from "../json/json-writer.ts";

/** Wire types of protobuf's encoding. */
const wireType = { varint: 0, fixed64: 1, bytes: 2 } as const;

/** Maximum bytes of the length of a message, as a varint of 32 bits. */
const maxLengthBytes = 5;
/** Maximum bytes of a UTF-16 unit in UTF-8. */
const maxBytesPerUnit = 3;

/** A value of an attribute. A number that is an integer becomes an integer, any other a double. */
export type SpanValue = string | number | boolean | readonly string[] | JsonBytes | DoubleValue;

/** JSON text as UTF-8 bytes. It is written as a string value. */
export interface JsonBytes {
  readonly json: Uint8Array;
}

/** A number that is written as a double even if it is an integer. */
export interface DoubleValue {
  readonly double: number;
}

/** Makes a number a double even if it is an integer, because a backend expects one type for each attribute. */
export const toDouble = (value: number | undefined): DoubleValue | undefined =>
  value === undefined ? undefined : { double: value };

/** Attributes by name, in the order in which they are written. */
export type SpanAttributes = Map<string, SpanValue>;

/** Field numbers of the messages `KeyValue`, `AnyValue` and `ArrayValue`. */
const keyValue = { key: 1, value: 2 } as const;
const anyValue = { string: 1, bool: 2, int: 3, double: 4, array: 5 } as const;
const arrayValues = 1;

/** Appends fields of protobuf messages to the output of a {@link JsonWriter}. */
export class ProtobufWriter {
  readonly out: JsonWriter;

  constructor(out: JsonWriter) {
    this.out = out;
  }

  /** Writes a field that is a message, whose fields `writeContent` writes. */
  writeMessage(fieldNumber: number, writeContent: () => void): void {
    const { out } = this;
    this.#writeTag(fieldNumber, wireType.bytes);
    // The length is known only afterwards. The content is then moved, because decoders expect the length in its
    // shortest form.
    out.ensureCapacity(maxLengthBytes);
    const start = out.length + maxLengthBytes;
    out.length = start;
    writeContent();
    const end = out.length;
    out.length = start - maxLengthBytes;
    this.#writeVarint(end - start);
    out.bytes.copyWithin(out.length, start, end);
    out.length += end - start;
  }

  /** Writes a text. Lone surrogates, which UTF-8 can't represent, become U+FFFD. */
  writeText(fieldNumber: number, text: string): void {
    const { out } = this;
    this.#writeTag(fieldNumber, wireType.bytes);
    if (text.length * maxBytesPerUnit < 0x80) {
      out.ensureCapacity(1 + text.length * maxBytesPerUnit);
      const written = out.bytes.write(text, out.length + 1);
      out.bytes[out.length] = written;
      out.length += 1 + written;
      return;
    }
    const size = Buffer.byteLength(text);
    this.#writeVarint(size);
    out.ensureCapacity(size);
    out.length += out.bytes.write(text, out.length, size);
  }

  writeBytes(fieldNumber: number, bytes: Uint8Array): void {
    this.#writeTag(fieldNumber, wireType.bytes);
    this.#writeVarint(bytes.length);
    this.out.writeBytes(bytes);
  }

  /** Writes a non-negative integer below 2^32. */
  writeUint(fieldNumber: number, value: number): void {
    this.#writeTag(fieldNumber, wireType.varint);
    this.#writeVarint(value);
  }

  /** Writes an unsigned 64-bit integer in eight bytes. */
  writeFixed64(fieldNumber: number, value: bigint): void {
    this.#writeTag(fieldNumber, wireType.fixed64);
    this.out.ensureCapacity(8);
    this.out.bytes.writeBigUInt64LE(value, this.out.length);
    this.out.length += 8;
  }

  /** Writes each attribute as a field with this number. */
  writeAttributes(fieldNumber: number, attributes: ReadonlyMap<string, SpanValue>): void {
    for (const [name, value] of attributes) {
      this.writeMessage(fieldNumber, () => {
        this.writeText(keyValue.key, name);
        this.writeMessage(keyValue.value, () => this.#writeValue(value));
      });
    }
  }

  #writeValue(value: SpanValue): void {
    switch (typeof value) {
      case "string":
        this.writeText(anyValue.string, value);
        break;
      case "boolean":
        this.writeUint(anyValue.bool, value ? 1 : 0);
        break;
      case "number":
        this.#writeNumber(value);
        break;
      default:
        if ("json" in value) {
          this.writeBytes(anyValue.string, value.json);
        } else if ("double" in value) {
          this.#writeDouble(value.double);
        } else {
          this.writeMessage(anyValue.array, () => {
            for (const text of value) {
              this.writeMessage(arrayValues, () => this.writeText(anyValue.string, text));
            }
          });
        }
    }
  }

  #writeNumber(value: number): void {
    if (Number.isSafeInteger(value)) {
      this.#writeTag(anyValue.int, wireType.varint);
      this.#writeLongVarint(BigInt.asUintN(64, BigInt(value)));
    } else {
      this.#writeDouble(value);
    }
  }

  #writeDouble(value: number): void {
    const { out } = this;
    this.#writeTag(anyValue.double, wireType.fixed64);
    out.ensureCapacity(8);
    out.length = out.bytes.writeDoubleLE(value, out.length);
  }

  #writeTag(fieldNumber: number, type: number): void {
    this.#writeVarint(fieldNumber * 8 + type);
  }

  /** Writes a non-negative integer below 2^32 in as few bytes as possible. */
  #writeVarint(value: number): void {
    const { out } = this;
    out.ensureCapacity(maxLengthBytes);
    let remaining = value;
    while (remaining > 0x7f) {
      out.bytes[out.length++] = (remaining & 0x7f) | 0x80;
      remaining = Math.floor(remaining / 0x80);
    }
    out.bytes[out.length++] = remaining;
  }

  #writeLongVarint(value: bigint): void {
    let remaining = value;
    while (remaining > 0x7fn) {
      this.out.writeByte(Number(remaining & 0x7fn) | 0x80);
      remaining >>= 7n;
    }
    this.out.writeByte(Number(remaining));
  }
}
