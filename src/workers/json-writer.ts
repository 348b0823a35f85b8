import { stampToIso, microsToStamp } from "../model/dotted-order.ts";
import { longestShortText, tag } from "../model/tape-format.ts";

/** JSON bytes of one byte of text, at most: `\u00XX`. */
const escapeGrowth = 6;
/** Bytes of a text handled at once, so that a long text asks for little more room than it needs. */
const textStep = 16_384;
/** Room for any number, literal or mark of structure. */
const scalarRoom = 32;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const hexDigits = "0123456789abcdef";

/**
 * Turns tagged values into JSON bytes without making JavaScript strings of their texts.
 * The output grows as needed; `bytes` and `length` are what was written.
 */
export class JsonWriter {
  bytes: Buffer;
  length = 0;

  constructor(initial: Buffer) {
    this.bytes = initial;
  }

  /** Appends text that is ASCII and needs no escaping. */
  ascii(text: string): void {
    this.room(text.length);
    this.length += this.bytes.write(text, this.length, text.length, "latin1");
  }

  /** Appends bytes as they are. */
  raw(source: Uint8Array, start: number, end: number): void {
    this.room(end - start);
    this.bytes.set(source.subarray(start, end), this.length);
    this.length += end - start;
  }

  byte(value: number): void {
    this.room(1);
    this.bytes[this.length++] = value;
  }

  /** Appends microseconds since the Unix epoch as quoted ISO 8601. */
  isoMicros(micros: number): void {
    this.ascii(`"${stampToIso(microsToStamp(micros))}"`);
  }

  /** Makes room for `count` more bytes. */
  room(count: number): void {
    if (this.length + count > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.ceil((this.length + count) * 1.5) + 1_024);
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
  }

  /** Appends the JSON of the tagged value at `at`; returns where the next one begins. */
  value(source: Buffer, view: DataView, at: number): number {
    const kind = source[at] ?? tag.null;
    if (kind >= tag.shortText) {
      const start = at + 1;
      const end = start + (kind & longestShortText);
      this.#text(source, start, end);
      return end;
    }
    switch (kind) {
      case tag.text: {
        const end = at + 5 + view.getUint32(at + 1, true);
        this.#text(source, at + 5, end);
        return end;
      }
      case tag.int:
        this.#int(view.getInt32(at + 1, true));
        return at + 5;
      case tag.double:
        this.ascii(String(view.getFloat64(at + 1, true)));
        return at + 9;
      case tag.true:
        this.ascii("true");
        return at + 1;
      case tag.false:
        this.ascii("false");
        return at + 1;
      case tag.object:
        return this.#object(source, view, at + 1);
      case tag.array:
        return this.#array(source, view, at + 1);
      case tag.wideText:
        return this.#wideText(source, view, at);
      case tag.bytes:
        return this.#binary(source, view, at + 1);
      case tag.null:
        this.ascii("null");
        return at + 1;
      default:
        throw new RangeError(`No value at byte ${at} of the tape`);
    }
  }

  #object(source: Buffer, view: DataView, start: number): number {
    let at = start;
    this.byte(0x7b);
    while (source[at] !== tag.end) {
      if (at !== start) {
        this.byte(comma);
      }
      at = this.value(source, view, at);
      this.byte(colon);
      at = this.value(source, view, at);
    }
    this.byte(0x7d);
    return at + 1;
  }

  #array(source: Buffer, view: DataView, start: number): number {
    let at = start;
    this.byte(0x5b);
    while (source[at] !== tag.end) {
      if (at !== start) {
        this.byte(comma);
      }
      at = this.value(source, view, at);
    }
    this.byte(0x5d);
    return at + 1;
  }

  #int(value: number): void {
    this.room(scalarRoom);
    if (value >= 0 && value <= 9) {
      this.bytes[this.length++] = 0x30 + value;
    } else {
      this.ascii(String(value));
    }
  }

  /** UTF-8 text in quotes; only quotes, backslashes and control characters are escaped. */
  #text(source: Buffer, start: number, end: number): void {
    this.byte(quote);
    for (let at = start; at < end; at += textStep) {
      this.#escaped(source, at, Math.min(at + textStep, end));
    }
    this.byte(quote);
  }

  #escaped(source: Buffer, start: number, end: number): void {
    this.room((end - start) * escapeGrowth);
    const out = this.bytes;
    let to = this.length;
    for (let from = start; from < end; from++) {
      const unit = source[from] ?? 0;
      if (unit >= 0x20 && unit !== quote && unit !== backslash) {
        out[to++] = unit;
      } else {
        to = escapeByte(out, to, unit);
      }
    }
    this.length = to;
  }

  /** UTF-16 text, in which a surrogate without its partner is escaped, as JSON.stringify does. */
  #wideText(source: Buffer, view: DataView, at: number): number {
    const end = at + 5 + view.getUint32(at + 1, true);
    const text = source.toString("utf16le", at + 5, end);
    const json = JSON.stringify(text);
    this.room(json.length * 3);
    this.length += this.bytes.write(json, this.length);
    return end;
  }

  /** Binary data: its type, and its bytes in base64. */
  #binary(source: Buffer, view: DataView, start: number): number {
    this.ascii('{"type":');
    const at = this.value(source, view, start);
    const end = at + 4 + view.getUint32(at, true);
    this.ascii(',"encoding":"base64","data":"');
    this.ascii(source.toString("base64", at + 4, end));
    this.ascii('"}');
    return end;
  }
}

/** Escapes one byte as JSON.stringify would; returns where the next byte goes. */
function escapeByte(out: Buffer, to: number, unit: number): number {
  out[to] = backslash;
  const short = shortEscapes[unit];
  if (short !== undefined) {
    out[to + 1] = short;
    return to + 2;
  }
  out[to + 1] = 0x75;
  out[to + 2] = 0x30;
  out[to + 3] = 0x30;
  out[to + 4] = hexDigits.charCodeAt(unit >> 4);
  out[to + 5] = hexDigits.charCodeAt(unit & 15);
  return to + 6;
}

const shortEscapes: readonly (number | undefined)[] = Object.assign(
  Array.from({ length: 128 }, () => undefined),
  { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72, [quote]: quote, [backslash]: backslash },
);
