import { isUtf8 } from "node:buffer";
import { isCardNumber } from "../model/card-number.ts";
import type { RedactionPlan, RedactionSearch } from "../model/redaction-search.ts";
import type { Redacted } from "../model/shipping.ts";
import {
  field,
  fieldHead,
  headOffset,
  longestShortText,
  recordHead,
  redactionMark,
  tag,
} from "../model/tape-format.ts";
import { byteOffsets, holdsOneOf, isPlainKey, maskText, wholeFrom, wholeTo } from "./text-mask.ts";
import type { Encoding, TextPlace } from "./text-mask.ts";
import { forEachMatch } from "./text-search.ts";

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
const textual = /^text\/|[/+](?:json|xml|yaml|javascript)(?:;|$)/i;
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
 * The head of a record says how far it is: nothing, under way, or the mark of the rules.
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

  /** Masks records, one after another as on a tape. Throws RangeError where they are none. */
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
    let isClean = state !== redactionMark.underWay;
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

  /** Name, MIME type, and bytes or the path of a file, whose content nobody searches. */
  #attachment(start: number, hide: string | undefined): void {
    const typeAt = this.#skip(start);
    const at = this.#skip(typeAt);
    if (hide !== undefined) {
      this.#value(at, hide);
    } else if (this.#bytes[at] === tag.bytes && textual.test(this.#keyText(typeAt))) {
      const bytesAt = this.#skip(at + 1) + 4;
      const end = bytesAt + this.#view.getUint32(bytesAt - 4, true);
      const encoding = isUtf8(this.#bytes.subarray(bytesAt, end)) ? "utf8" : "latin1";
      this.#text(bytesAt, end, encoding, undefined);
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
        return this.#array(at + 1, hide);
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

  #array(start: number, hide: string | undefined): number {
    let at = start;
    while (this.#bytes[at] !== tag.end) {
      at = this.#value(at, hide);
    }
    return at + 1;
  }

  #object(start: number, hide: string | undefined): number {
    let at = start;
    while (this.#bytes[at] !== tag.end) {
      const keyAt = at;
      const hiding = hide ?? this.#hiding(keyAt);
      at = this.#value(this.#key(keyAt, hide), hiding);
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
    let lower: string | undefined;
    for (const search of this.#plan.searches) {
      const { needs } = search;
      if (needs !== undefined) {
        lower ??= text.toLowerCase();
      }
      if (needs === undefined || holdsOneOf(lower ?? text, needs)) {
        this.#search(text, search, { start, end, encoding });
      }
    }
  }

  #search(text: string, search: RedactionSearch, place: TextPlace): void {
    const toByte = byteOffsets(text, place);
    forEachMatch(text, search, (from, to) => {
      const start = toByte(wholeFrom(text, from));
      this.#mask(search.name, { ...place, start, end: toByte(wholeTo(text, to)) });
    });
  }

  #mask(name: string, place: TextPlace): void {
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
    const snake = key
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
