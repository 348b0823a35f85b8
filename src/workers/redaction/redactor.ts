import { isUtf8 } from "node:buffer";
import { isCardNumber } from "../../model/options/card-number.ts";
import type { RedactionPlan } from "../../model/options/redaction-search.ts";
import type { RedactionCounts } from "../../model/records/shipping.ts";
import {
  field,
  fieldHeadBytes,
  headOffset,
  longestShortText,
  recordHeadBytes,
  redactionState,
  tag,
} from "../../model/records/tape-format.ts";
import {
  createByteOffsetMapper,
  containsAny,
  isPlainKey,
  maskText,
  toPairStart,
  toPairEnd,
  visitMatches,
} from "./text-mask.ts";
import type { Encoding, TextPosition } from "./text-mask.ts";
import { visitEncodedText } from "./encoded-text.ts";
import { decodeHiddenText } from "./hidden-text.ts";

/**
 * Fields in which the rules search for matches: everything that the caller can fill freely. Ids and times are not
 * searched.
 */
const searchedFields: ReadonlySet<number> = new Set([
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

/** MIME types of attachments that are searched as text. */
const textMimeType =
  /^text\/|[/+.-](?:(?:nd)?json|jsonl|json-seq|xml|yaml|toml|sql|graphql|(?:java|ecma)script|x-www-form-urlencoded|form-data)(?:;|$)/i;
/** Matches keys of arrays that contain names and values in turn, such as `rawHeaders` of a Node request. */
const flatHeadersKey = /headers$/i;
/**
 * Keys of members that name the value of another member of the same object, as in `{ name:
 * "password", value }`.
 */
const nameKeys: ReadonlySet<string> = new Set(["name", "key", "header", "field", "variable"]);
/** Keys of the members that contain the named value. */
const valueKeys: ReadonlySet<string> = new Set(["value", "values", "val", "default"]);
/** The two bytes with which a mask can begin: `*` and `[`. */
const asterisk = 0x2a;
const bracket = 0x5b;
/**
 * Maximum bytes of a text that is treated as a name. Longer texts are data and would fill the key
 * cache.
 */
const maxNameBytes = 64;
/** The smallest number of thirteen digits, the minimum length of a card number. */
const minCardNumber = 1e12;
/** The name that is shown in the masks of a record which could not be searched. */
const failureMaskName = "redaction-failed";
/**
 * Maximum number of keys in the key cache. A full cache is cleared, because keys may be arbitrary
 * data.
 */
const maxCachedKeys = 4_096;

/**
 * Masks the matches of the rules in place in a buffer of records. A mask is as long as the text that it covers, so that
 * no other bytes move. Redaction fails closed: everything in a record is masked if a rule throws on it, or if an
 * earlier redaction of the record did not complete. A redaction that did not complete has crashed or blocked its
 * thread, and a second attempt would do the same.
 *
 * The head of a record, the fixed bytes at its start, contains the state of its redaction: not begun, in progress, or a
 * number that identifies the rules that were applied.
 */
export class Redactor {
  readonly #plan: RedactionPlan;
  /**
   * For each key of an object, and each text that names a value: the name of the rule that masks the value, or
   * `undefined` if no rule does.
   */
  readonly #keyCache = new Map<string, string | undefined>();
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #maskedCount = 0;

  constructor(plan: RedactionPlan) {
    this.#plan = plan;
  }

  /**
   * Masks a sequence of records.
   *
   * @throws RangeError if the bytes are not records.
   */
  redact(records: Uint8Array): RedactionCounts {
    const bytes = Buffer.from(records.buffer, records.byteOffset, records.length);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#maskedCount = 0;
    let failedRecords = 0;
    for (let offset = 0; offset < bytes.length;) {
      const length = this.#view.getUint32(offset + headOffset.length, true);
      if (length < recordHeadBytes || offset + length > bytes.length) {
        throw new RangeError(`No record at byte ${offset}`);
      }
      failedRecords += this.#redactRecord(offset, offset + length) ? 0 : 1;
      offset += length;
    }
    return { maskedMatches: this.#maskedCount, failedRecords };
  }

  /** Redacts one record. Returns false if everything in it had to be masked. */
  #redactRecord(start: number, end: number): boolean {
    const bytes = this.#bytes;
    const state = bytes[start + headOffset.redaction];
    if (state === this.#plan.mark) {
      return true;
    }
    let canApplyRules = state !== redactionState.inProgress && this.#plan.masksEverything !== true;
    bytes[start + headOffset.redaction] = redactionState.inProgress;
    if (canApplyRules) {
      try {
        this.#redactFields(start, end, undefined);
      } catch {
        // The error is dropped, because its message may contain the text to be masked. The caller
        // counts the record as failed.
        canApplyRules = false;
      }
    }
    if (!canApplyRules) {
      this.#redactFields(start, end, failureMaskName);
    }
    bytes[start + headOffset.redaction] = this.#plan.mark;
    return canApplyRules;
  }

  /** Redacts the fields of a record. If `maskName` is set, everything is masked with that name. */
  #redactFields(start: number, end: number, maskName: string | undefined): void {
    for (let offset = start + recordHeadBytes; offset < end;) {
      const code = this.#bytes[offset] ?? 0;
      const nextOffset = offset + fieldHeadBytes + this.#view.getUint32(offset + 1, true);
      if (code === field.other) {
        const valueOffset = this.#skipText(offset + fieldHeadBytes);
        this.#redactValue(valueOffset, maskName ?? this.#findKeyRule(offset + fieldHeadBytes));
      } else if (code === field.attachment) {
        this.#redactAttachment(offset + fieldHeadBytes, maskName);
      } else if (searchedFields.has(code)) {
        this.#redactValue(offset + fieldHeadBytes, maskName);
      }
      offset = nextOffset;
    }
  }

  /**
   * An attachment field contains the name, the MIME type, and the bytes or the path of a file. The
   * content of a file on disk is not searched.
   */
  #redactAttachment(start: number, maskName: string | undefined): void {
    const typeOffset = this.#skipText(start);
    const offset = this.#skipText(typeOffset);
    if (maskName !== undefined) {
      this.#redactValue(offset, maskName);
    } else if (this.#bytes[offset] === tag.bytes && textMimeType.test(this.#readText(typeOffset))) {
      const contentOffset = this.#skipText(offset + 1) + 4;
      const end = contentOffset + this.#view.getUint32(contentOffset - 4, true);
      this.#redactAttachmentText(contentOffset, end);
    }
  }

  #redactAttachmentText(start: number, end: number): void {
    const content = this.#bytes.subarray(start, end);
    const byteOrder = detectByteOrder(content);
    if (byteOrder === undefined) {
      this.#redactText(start, end, isUtf8(content) ? "utf8" : "latin1", undefined);
      return;
    }
    const evenBytes = content.subarray(0, content.length & ~1);
    if (byteOrder === "big-endian") {
      evenBytes.swap16();
    }
    try {
      this.#redactText(start, start + evenBytes.length, "utf16le", undefined);
    } finally {
      if (byteOrder === "big-endian") {
        evenBytes.swap16();
      }
    }
  }

  /**
   * Masks a tagged value and returns the offset of the next value.
   *
   * @param maskName the name of the mask that replaces the whole value; without it, only what the rules match is masked
   */
  #redactValue(offset: number, maskName: string | undefined): number {
    const bytes = this.#bytes;
    const tagByte = bytes[offset] ?? tag.null;
    if (tagByte >= tag.shortText) {
      const end = offset + 1 + (tagByte & longestShortText);
      this.#redactText(offset + 1, end, "utf8", maskName);
      return end;
    }
    switch (tagByte) {
      case tag.text:
      case tag.wideText: {
        const end = offset + 5 + this.#view.getUint32(offset + 1, true);
        this.#redactText(offset + 5, end, tagByte === tag.text ? "utf8" : "utf16le", maskName);
        return end;
      }
      case tag.int:
        return this.#redactNumber(offset, offset + 5, maskName !== undefined);
      case tag.double:
        return this.#redactNumber(
          offset,
          offset + 9,
          maskName !== undefined || this.#isCardNumber(offset),
        );
      case tag.true:
      case tag.false:
        if (maskName !== undefined) {
          bytes[offset] = tag.null;
          this.#maskedCount += 1;
        }
        return offset + 1;
      case tag.array:
        return this.#redactArray(offset + 1, maskName, false);
      case tag.object:
        return this.#redactObject(offset + 1, maskName);
      case tag.bytes:
        return this.#redactBinary(offset + 1, maskName);
      case tag.null:
        return offset + 1;
      default:
        throw new RangeError(`No value at byte ${offset}`);
    }
  }

  /** Redacts an array. With `isFlat`, its elements alternate between names and values. */
  #redactArray(start: number, maskName: string | undefined, isFlat: boolean): number {
    const bytes = this.#bytes;
    let offset = start;
    let valueMaskName = maskName;
    for (let index = 0; bytes[offset] !== tag.end; index++) {
      const ruleName =
        isFlat && maskName === undefined && index % 2 === 0
          ? this.#findNameRule(offset)
          : undefined;
      const isPair = valueMaskName === undefined && bytes[offset] === tag.array;
      offset = isPair ? this.#redactPair(offset + 1) : this.#redactValue(offset, valueMaskName);
      valueMaskName = maskName ?? ruleName;
    }
    return offset + 1;
  }

  /**
   * Redacts an array inside an array. If it has two elements, the first may name the second, as in
   * `[["cookie", "id=1"]]`.
   */
  #redactPair(start: number): number {
    const ruleName = this.#findNameRule(start);
    if (ruleName === undefined) {
      return this.#redactArray(start, undefined, false);
    }
    const secondOffset = this.#skipText(start);
    const end = this.#redactArray(start, undefined, false);
    // Redaction moves no bytes, so `secondOffset` is still correct. If the array ends after the second element, the
    // first element names the second.
    if (
      this.#bytes[secondOffset] !== tag.end &&
      this.#redactValue(secondOffset, undefined) === end - 1
    ) {
      this.#redactValue(secondOffset, ruleName);
    }
    return end;
  }

  #redactObject(start: number, maskName: string | undefined): number {
    const bytes = this.#bytes;
    const shouldReadNames = maskName === undefined && this.#plan.keys.length > 0;
    let nameRule: string | undefined;
    let namedValueOffset = 0;
    let offset = start;
    while (bytes[offset] !== tag.end) {
      const keyOffset = offset;
      const valueMaskName = maskName ?? this.#findKeyRule(keyOffset);
      const key = shouldReadNames ? this.#readName(keyOffset) : undefined;
      const valueOffset = this.#redactKey(keyOffset, maskName);
      if (key !== undefined && nameKeys.has(key)) {
        nameRule ??= this.#findNameRule(valueOffset);
      } else if (key !== undefined && valueKeys.has(key)) {
        namedValueOffset = valueOffset;
      }
      offset =
        valueMaskName === undefined && key !== undefined && bytes[valueOffset] === tag.array
          ? this.#redactArray(valueOffset + 1, undefined, flatHeadersKey.test(key))
          : this.#redactValue(valueOffset, valueMaskName);
    }
    if (nameRule !== undefined && namedValueOffset > 0) {
      // The value may precede its name, so it is masked after the whole object was read.
      this.#redactValue(namedValueOffset, nameRule);
    }
    return offset + 1;
  }

  /**
   * A key stays readable even if all values are masked, unless a rule matches it. In a record that
   * could not be searched, only plain identifiers stay readable.
   */
  #redactKey(offset: number, maskName: string | undefined): number {
    if (maskName !== failureMaskName) {
      return this.#redactValue(offset, undefined);
    }
    return isPlainKey(this.#readText(offset))
      ? this.#skipText(offset)
      : this.#redactValue(offset, maskName);
  }

  /**
   * Binary data is not searched. Under a key whose value is masked, it is overwritten with zeros.
   */
  #redactBinary(start: number, maskName: string | undefined): number {
    const offset = this.#skipText(start);
    const end = offset + 4 + this.#view.getUint32(offset, true);
    if (maskName !== undefined) {
      this.#bytes.fill(0, offset + 4, end);
      this.#maskedCount += 1;
    }
    return end;
  }

  /** If the number must be masked, replaces it by a text of asterisks that takes as many bytes. */
  #redactNumber(offset: number, end: number, shouldMask: boolean): number {
    if (shouldMask) {
      this.#bytes[offset] = tag.shortText | (end - offset - 1);
      this.#bytes.fill("*", offset + 1, end);
      this.#maskedCount += 1;
    }
    return end;
  }

  #isCardNumber(offset: number): boolean {
    const value = this.#view.getFloat64(offset + 1, true);
    return (
      value >= minCardNumber &&
      Number.isInteger(value) &&
      this.#plan.searches.some(({ isCard }) => isCard === true) &&
      isCardNumber(String(value))
    );
  }

  // oxlint-disable-next-line max-params -- called for each text of each run; an object would create garbage
  #redactText(start: number, end: number, encoding: Encoding, maskName: string | undefined): void {
    if (maskName !== undefined) {
      this.#maskText(maskName, { start, end, encoding });
      return;
    }
    const text = this.#bytes.toString(encoding, start, end);
    const position = { start, end, encoding };
    const toByte = createByteOffsetMapper(text, position);
    const mask = (name: string, matchStart: number, matchEnd: number): void => {
      const firstByte = toByte(toPairStart(text, matchStart));
      this.#maskText(name, {
        ...position,
        start: firstByte,
        end: toByte(toPairEnd(text, matchEnd)),
      });
    };
    // A match in the original text is found again in the decoded text. Skip it if it is masked
    // already, so that it counts once.
    const maskIfUnmasked = (name: string, matchStart: number, matchEnd: number): void => {
      const byte = this.#bytes[toByte(toPairStart(text, matchStart))];
      if ((byte !== asterisk && byte !== bracket) || byte === text.charCodeAt(matchStart)) {
        mask(name, matchStart, matchEnd);
      }
    };
    this.#searchText(text, mask);
    const decodedText = decodeHiddenText(text, encoding === "utf8" && text.length === end - start);
    if (decodedText !== undefined) {
      this.#searchText(decodedText.text, (name, matchStart, matchEnd) =>
        maskIfUnmasked(name, decodedText.mapStart(matchStart), decodedText.mapEnd(matchEnd)),
      );
    }
    visitEncodedText(text, (decoded, matchStart, matchEnd) => {
      let ruleName: string | undefined;
      this.#searchText(decoded, (name) => {
        ruleName ??= name;
      });
      if (ruleName !== undefined) {
        maskIfUnmasked(ruleName, matchStart, matchEnd);
      }
    });
  }

  /** Calls `onFound` for each match of a rule in a text. */
  #searchText(text: string, onFound: (name: string, start: number, end: number) => void): void {
    let lower: string | undefined;
    for (const search of this.#plan.searches) {
      const { name, requiredTexts } = search;
      if (requiredTexts !== undefined) {
        lower ??= text.toLowerCase();
      }
      if (requiredTexts === undefined || containsAny(lower ?? text, requiredTexts)) {
        visitMatches(text, search, (start, end) => onFound(name, start, end));
      }
    }
  }

  #maskText(name: string, position: TextPosition): void {
    this.#maskedCount += maskText(this.#bytes, name, position) ? 1 : 0;
  }

  /** Returns the name to show in the mask if the value of the key at `offset` must be masked, otherwise `undefined`. */
  #findKeyRule(offset: number): string | undefined {
    if (this.#plan.keys.length === 0) {
      return undefined;
    }
    const key = this.#readText(offset);
    if (this.#keyCache.has(key)) {
      return this.#keyCache.get(key);
    }
    const snakeCaseKey = (decodeHiddenText(key)?.text ?? key)
      .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
      .replace(/[-. ]/g, "_")
      .toLowerCase();
    const rule = this.#plan.keys.find(
      ({ pattern }) => pattern.test(key) || pattern.test(snakeCaseKey),
    );
    if (this.#keyCache.size >= maxCachedKeys) {
      this.#keyCache.clear();
    }
    this.#keyCache.set(key, rule?.name);
    return rule?.name;
  }

  /**
   * Like `#findKeyRule`, for a text at `offset` that names another value, such as `name` in `{ name, value }`;
   * `undefined` if the value at `offset` is not a short text.
   */
  #findNameRule(offset: number): string | undefined {
    const isName = this.#plan.keys.length > 0 && this.#readName(offset) !== undefined;
    return isName ? this.#findKeyRule(offset) : undefined;
  }

  #readName(offset: number): string | undefined {
    const tagByte = this.#bytes[offset] ?? tag.null;
    const isText = tagByte >= tag.shortText || tagByte === tag.text || tagByte === tag.wideText;
    return isText && this.#skipText(offset) - offset <= maxNameBytes
      ? this.#readText(offset)
      : undefined;
  }

  #readText(offset: number): string {
    const tagByte = this.#bytes[offset] ?? 0;
    return tagByte >= tag.shortText
      ? this.#bytes.toString("utf8", offset + 1, offset + 1 + (tagByte & longestShortText))
      : this.#bytes.toString(
          tagByte === tag.wideText ? "utf16le" : "utf8",
          offset + 5,
          this.#skipText(offset),
        );
  }

  /** Returns the offset of the end of the text at `offset`. */
  #skipText(offset: number): number {
    const tagByte = this.#bytes[offset] ?? 0;
    if (tagByte >= tag.shortText) {
      return offset + 1 + (tagByte & longestShortText);
    }
    if (tagByte !== tag.text && tagByte !== tag.wideText) {
      throw new RangeError(`No text at byte ${offset}`);
    }
    return offset + 5 + this.#view.getUint32(offset + 1, true);
  }
}

/** Detects UTF-16 by its byte order mark, or by the zero bytes that ASCII letters have in it. */
function detectByteOrder(content: Buffer): "little-endian" | "big-endian" | undefined {
  const [first, second] = content;
  if (first === 0xff && second === 0xfe) {
    return "little-endian";
  }
  if (first === 0xfe && second === 0xff) {
    return "big-endian";
  }
  const sample = content.subarray(0, 256);
  let evenZeros = 0;
  let oddZeros = 0;
  for (const [index, byte] of sample.entries()) {
    evenZeros += byte === 0 && index % 2 === 0 ? 1 : 0;
    oddZeros += byte === 0 && index % 2 === 1 ? 1 : 0;
  }
  // Latin letters leave every second byte zero. One zero in four such bytes is enough, for texts that mix scripts.
  const minZeros = sample.length / 8;
  if (sample.length < 4 || Math.max(evenZeros, oddZeros) < minZeros || evenZeros === oddZeros) {
    return undefined;
  }
  return oddZeros > evenZeros ? "little-endian" : "big-endian";
}
