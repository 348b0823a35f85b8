import { isUtf8 } from "node:buffer";
import { isCardNumber } from "../../model/options/card-number.ts";
import type { RedactionPlan } from "../../model/options/redaction-search.ts";
import type { Redacted } from "../../model/records/shipping.ts";
import {
  field,
  fieldHead,
  headOffset,
  longestShortText,
  recordHead,
  redactionMark,
  tag,
} from "../../model/records/tape-format.ts";
import {
  byteOffsets,
  holdsOneOf,
  isPlainKey,
  maskText,
  wholeFrom,
  wholeTo,
  forEachMatch,
} from "./text-mask.ts";
import type { Encoding, TextPosition } from "./text-mask.ts";
import { forEachEncodedText } from "./encoded-text.ts";
import { foldText } from "./folded-text.ts";

/** Fields in which rules search: all that the caller gave freely. Ids, times and places are not among them. */
const searched: ReadonlySet<number> = new Set([
  field.name,
  field.tags,
  field.inputs,
  field.outputs,
  field.events,
  field.error,
  field.serialized,
  field.metadata,
  field.extra,
  field.extraWithRuntime,
  field.other,
]);

/** MIME types of attachments whose bytes are searched. */
const textual =
  /^text\/|[/+.-](?:(?:nd)?json|jsonl|json-seq|xml|yaml|toml|sql|graphql|(?:java|ecma)script|x-www-form-urlencoded|form-data)(?:;|$)/i;
/** Keys whose arrays hold names and values in turn, as `rawHeaders` of Node's requests does. */
const flatHeaders = /headers$/i;
/** Members that name what the members of `namedValues` beside them hold: `{ name: "password", value }`. */
const valueNames: ReadonlySet<string> = new Set(["name", "key", "header", "field", "variable"]);
const namedValues: ReadonlySet<string> = new Set(["value", "values", "val", "default"]);
/** First byte of a mask. */
const asterisk = 0x2a;
const bracket = 0x5b;
/** Bytes of the longest text that is taken for a name. Longer texts are data, which should not fill the key memory. */
const longestName = 64;
/** Of thirteen digits. */
const smallestCard = 1e12;
/** Stands in the masks of a record that could not be searched. */
const failedName = "redaction-failed";
/** Keys whose answer is kept; beyond it the memory is emptied, since keys may be data. */
const keyMemory = 4_096;
/**
 * Masks what the rules find, in place on a tape: a mask is as long as what it covers, so that nothing
 * moves. It fails closed. A record that a rule throws on has everything masked; so has one that was
 * found half done, since the thread that was at it died or hung, and a rule would do it again.
 *
 * The head of a record contains its state: not begun, under way, or the mark of the rules.
 */
export class Redactor {
  readonly #plan: RedactionPlan;
  readonly #hidingKeys = new Map<string, string | undefined>();
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #masked = 0;

  constructor(plan: RedactionPlan) {
    this.#plan = plan;
  }

  /** Masks records, one after another as on a tape. Throws RangeError where the bytes are not records. */
  redact(records: Uint8Array): Redacted {
    const bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#masked = 0;
    let failed = 0;
    for (let at = 0; at < bytes.length;) {
      const length = this.#view.getUint32(at + headOffset.length, true);
      if (length < recordHead || at + length > bytes.length) {
        throw new RangeError(`No record at byte ${at}`);
      }
      failed += this.#record(at, at + length) ? 0 : 1;
      at += length;
    }
    return { masked: this.#masked, failed };
  }

  /** False where everything had to be masked. */
  #record(start: number, end: number): boolean {
    const bytes = this.#bytes;
    const state = bytes[start + headOffset.redaction];
    if (state === this.#plan.mark) {
      return true;
    }
    let isClean = state !== redactionMark.underWay && this.#plan.masksEverything !== true;
    bytes[start + headOffset.redaction] = redactionMark.underWay;
    if (isClean) {
      try {
        this.#fields(start, end, undefined);
      } catch {
        // What a rule threw may hold what it was to mask. The caller counts the record.
        isClean = false;
      }
    }
    if (!isClean) {
      this.#fields(start, end, failedName);
    }
    bytes[start + headOffset.redaction] = this.#plan.mark;
    return isClean;
  }

  /** `hide` is the name in the masks where everything is to be masked. */
  #fields(start: number, end: number, hide: string | undefined): void {
    for (let at = start + recordHead; at < end;) {
      const code = this.#bytes[at] ?? 0;
      const next = at + fieldHead + this.#view.getUint32(at + 1, true);
      if (code === field.other) {
        const valueAt = this.#skip(at + fieldHead);
        this.#value(valueAt, hide ?? this.#hiding(at + fieldHead));
      } else if (code === field.attachment) {
        this.#attachment(at + fieldHead, hide);
      } else if (searched.has(code)) {
        this.#value(at + fieldHead, hide);
      }
      at = next;
    }
  }

  /** Name, MIME type, and the bytes or the path of a file. Its content is not searched. */
  #attachment(start: number, hide: string | undefined): void {
    const typeAt = this.#skip(start);
    const at = this.#skip(typeAt);
    if (hide !== undefined) {
      this.#value(at, hide);
    } else if (this.#bytes[at] === tag.bytes && textual.test(this.#keyText(typeAt))) {
      const bytesAt = this.#skip(at + 1) + 4;
      const end = bytesAt + this.#view.getUint32(bytesAt - 4, true);
      this.#fileText(bytesAt, end);
    }
  }

  #fileText(start: number, end: number): void {
    const content = this.#bytes.subarray(start, end);
    const wide = wideOrderOf(content);
    if (wide === undefined) {
      this.#text(start, end, isUtf8(content) ? "utf8" : "latin1", undefined);
      return;
    }
    const whole = content.subarray(0, content.length & ~1);
    if (wide === "big-endian") {
      whole.swap16();
    }
    try {
      this.#text(start, start + whole.length, "utf16le", undefined);
    } finally {
      if (wide === "big-endian") {
        whole.swap16();
      }
    }
  }

  /** Masks in a tagged value; returns where the next one begins. */
  #value(at: number, hide: string | undefined): number {
    const bytes = this.#bytes;
    const kind = bytes[at] ?? tag.null;
    if (kind >= tag.shortText) {
      const end = at + 1 + (kind & longestShortText);
      this.#text(at + 1, end, "utf8", hide);
      return end;
    }
    switch (kind) {
      case tag.text:
      case tag.wideText: {
        const end = at + 5 + this.#view.getUint32(at + 1, true);
        this.#text(at + 5, end, kind === tag.text ? "utf8" : "utf16le", hide);
        return end;
      }
      case tag.int:
        return this.#number(at, at + 5, hide !== undefined);
      case tag.double:
        return this.#number(at, at + 9, hide !== undefined || this.#isCard(at));
      case tag.true:
      case tag.false:
        if (hide !== undefined) {
          bytes[at] = tag.null;
          this.#masked += 1;
        }
        return at + 1;
      case tag.array:
        return this.#array(at + 1, hide, false);
      case tag.object:
        return this.#object(at + 1, hide);
      case tag.bytes:
        return this.#binary(at + 1, hide);
      case tag.null:
        return at + 1;
      default:
        throw new RangeError(`No value at byte ${at}`);
    }
  }

  /** With `isFlat` every second element is named by the one before it. */
  #array(start: number, hide: string | undefined, isFlat: boolean): number {
    const bytes = this.#bytes;
    let at = start;
    let hiding = hide;
    for (let index = 0; bytes[at] !== tag.end; index++) {
      const name =
        isFlat && hide === undefined && index % 2 === 0 ? this.#hidingName(at) : undefined;
      const isPair = hiding === undefined && bytes[at] === tag.array;
      at = isPair ? this.#pair(at + 1) : this.#value(at, hiding);
      hiding = hide ?? name;
    }
    return at + 1;
  }

  /** An array within an array: where it has two elements the first may name the second, as in `[["cookie", "id=1"]]`. */
  #pair(start: number): number {
    const name = this.#hidingName(start);
    if (name === undefined) {
      return this.#array(start, undefined, false);
    }
    const second = this.#skip(start);
    const end = this.#array(start, undefined, false);
    // The elements were searched one by one above, which does not move them.
    if (this.#bytes[second] !== tag.end && this.#value(second, undefined) === end - 1) {
      this.#value(second, name);
    }
    return end;
  }

  #object(start: number, hide: string | undefined): number {
    const bytes = this.#bytes;
    const seeksNames = hide === undefined && this.#plan.keys.length > 0;
    let namedBy: string | undefined;
    let namedAt = 0;
    let at = start;
    while (bytes[at] !== tag.end) {
      const keyAt = at;
      const hiding = hide ?? this.#hiding(keyAt);
      const key = seeksNames ? this.#shortText(keyAt) : undefined;
      const valueAt = this.#key(keyAt, hide);
      if (key !== undefined && valueNames.has(key)) {
        namedBy ??= this.#hidingName(valueAt);
      } else if (key !== undefined && namedValues.has(key)) {
        namedAt = valueAt;
      }
      at =
        hiding === undefined && key !== undefined && bytes[valueAt] === tag.array
          ? this.#array(valueAt + 1, undefined, flatHeaders.test(key))
          : this.#value(valueAt, hiding);
    }
    if (namedBy !== undefined && namedAt > 0) {
      // The value may stand before its name, so it is masked when the whole object was read.
      this.#value(namedAt, namedBy);
    }
    return at + 1;
  }

  /** A key stays readable where all is hidden, unless a rule finds something in it, or might have. */
  #key(at: number, hide: string | undefined): number {
    if (hide !== failedName) {
      return this.#value(at, undefined);
    }
    return isPlainKey(this.#keyText(at)) ? this.#skip(at) : this.#value(at, hide);
  }

  /** Binary data is not searched: under a key that hides, it is emptied. */
  #binary(start: number, hide: string | undefined): number {
    const at = this.#skip(start);
    const end = at + 4 + this.#view.getUint32(at, true);
    if (hide !== undefined) {
      this.#bytes.fill(0, at + 4, end);
      this.#masked += 1;
    }
    return end;
  }

  /** A number becomes a short text of the same size. */
  #number(at: number, end: number, isHidden: boolean): number {
    if (isHidden) {
      this.#bytes[at] = tag.shortText | (end - at - 1);
      this.#bytes.fill("*", at + 1, end);
      this.#masked += 1;
    }
    return end;
  }

  #isCard(at: number): boolean {
    const value = this.#view.getFloat64(at + 1, true);
    return (
      value >= smallestCard &&
      Number.isInteger(value) &&
      this.#plan.searches.some(({ isCard }) => isCard === true) &&
      isCardNumber(String(value))
    );
  }

  // oxlint-disable-next-line max-params -- called for each text of each run; an object would be garbage
  #text(start: number, end: number, encoding: Encoding, hide: string | undefined): void {
    if (hide !== undefined) {
      this.#mask(hide, { start, end, encoding });
      return;
    }
    const text = this.#bytes.toString(encoding, start, end);
    const place = { start, end, encoding };
    const toByte = byteOffsets(text, place);
    const mask = (name: string, from: number, to: number): void => {
      const first = toByte(wholeFrom(text, from));
      this.#mask(name, { ...place, start: first, end: toByte(wholeTo(text, to)) });
    };
    // What was found in the text itself is found again without the disguises, and counts once.
    const maskNew = (name: string, from: number, to: number): void => {
      const byte = this.#bytes[toByte(wholeFrom(text, from))];
      if ((byte !== asterisk && byte !== bracket) || byte === text.charCodeAt(from)) {
        mask(name, from, to);
      }
    };
    this.#search(text, mask);
    const folded = foldText(text, encoding === "utf8" && text.length === end - start);
    if (folded !== undefined) {
      this.#search(folded.text, (name, from, to) =>
        maskNew(name, folded.startOf(from), folded.endOf(to)),
      );
    }
    forEachEncodedText(text, (decoded, from, to) => {
      let found: string | undefined;
      this.#search(decoded, (name) => {
        found ??= name;
      });
      if (found !== undefined) {
        maskNew(found, from, to);
      }
    });
  }

  /** Calls for each place in a text that a rule finds. */
  #search(text: string, onFound: (name: string, from: number, to: number) => void): void {
    let lower: string | undefined;
    for (const search of this.#plan.searches) {
      const { name, needs } = search;
      if (needs !== undefined) {
        lower ??= text.toLowerCase();
      }
      if (needs === undefined || holdsOneOf(lower ?? text, needs)) {
        forEachMatch(text, search, (from, to) => onFound(name, from, to));
      }
    }
  }

  #mask(name: string, place: TextPosition): void {
    this.#masked += maskText(this.#bytes, name, place) ? 1 : 0;
  }

  /** The name in the masks of what stands under the key at `at`; `undefined` where that is shown. */
  #hiding(at: number): string | undefined {
    if (this.#plan.keys.length === 0) {
      return undefined;
    }
    const key = this.#keyText(at);
    if (this.#hidingKeys.has(key)) {
      return this.#hidingKeys.get(key);
    }
    const snake = (foldText(key)?.text ?? key)
      .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
      .replace(/[-. ]/g, "_")
      .toLowerCase();
    const found = this.#plan.keys.find(({ pattern }) => pattern.test(key) || pattern.test(snake));
    if (this.#hidingKeys.size >= keyMemory) {
      this.#hidingKeys.clear();
    }
    this.#hidingKeys.set(key, found?.name);
    return found?.name;
  }

  /** The same for a text that names another value; `undefined` where there is no text at `at`. */
  #hidingName(at: number): string | undefined {
    const isName = this.#plan.keys.length > 0 && this.#shortText(at) !== undefined;
    return isName ? this.#hiding(at) : undefined;
  }

  #shortText(at: number): string | undefined {
    const kind = this.#bytes[at] ?? tag.null;
    const isText = kind >= tag.shortText || kind === tag.text || kind === tag.wideText;
    return isText && this.#skip(at) - at <= longestName ? this.#keyText(at) : undefined;
  }

  #keyText(at: number): string {
    const kind = this.#bytes[at] ?? 0;
    return kind >= tag.shortText
      ? this.#bytes.toString("utf8", at + 1, at + 1 + (kind & longestShortText))
      : this.#bytes.toString(kind === tag.wideText ? "utf16le" : "utf8", at + 5, this.#skip(at));
  }

  /** Where the text at `at` ends. */
  #skip(at: number): number {
    const kind = this.#bytes[at] ?? 0;
    if (kind >= tag.shortText) {
      return at + 1 + (kind & longestShortText);
    }
    if (kind !== tag.text && kind !== tag.wideText) {
      throw new RangeError(`No text at byte ${at}`);
    }
    return at + 5 + this.#view.getUint32(at + 1, true);
  }
}

/** UTF-16 by its byte order mark, or by the zero bytes that it has for ASCII letters. */
function wideOrderOf(content: Buffer): "little-endian" | "big-endian" | undefined {
  const [first, second] = content;
  if (first === 0xff && second === 0xfe) {
    return "little-endian";
  }
  if (first === 0xfe && second === 0xff) {
    return "big-endian";
  }
  const sample = content.subarray(0, 256);
  let even = 0;
  let odd = 0;
  for (const [index, byte] of sample.entries()) {
    even += byte === 0 && index % 2 === 0 ? 1 : 0;
    odd += byte === 0 && index % 2 === 1 ? 1 : 0;
  }
  // Latin letters leave every second byte zero; one in four is enough for texts that mix scripts.
  const enough = sample.length / 8;
  if (sample.length < 4 || Math.max(even, odd) < enough || even === odd) {
    return undefined;
  }
  return odd > even ? "little-endian" : "big-endian";
}
