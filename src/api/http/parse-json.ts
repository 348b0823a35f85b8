import { setImmediate as nextTurn } from "node:timers/promises";

/** Options of {@link parseJson}. */
export interface ParseJsonOptions {
  /** Aborts the parsing the next time it yields to the event loop. */
  readonly signal?: AbortSignal | undefined;
  /** Up to this size in bytes, `JSON.parse` parses the whole text at once. @defaultValue 262,144 */
  readonly unsplitBytes?: number;
  /** Size in bytes above which a list or an object is split into segments. @defaultValue 65,536 */
  readonly segmentBytes?: number;
  /** @defaultValue {@link responseBounds} */
  readonly bounds?: JsonBounds;
}

/** Limits on the content of a text that is split into segments. */
interface JsonBounds {
  /** Maximum number of commas and opening brackets, which bounds the number of values. */
  readonly values: number;
  /** Maximum depth of nested lists and objects. */
  readonly depth: number;
  /** Maximum number of members of one object. */
  readonly members: number;
}

/**
 * The limit on values bounds memory: that many empty objects take 0.7 GB. The limit on members bounds how long the
 * event loop is blocked: in an object of more than a million members, adding a member would block the event loop each
 * time V8 enlarges the object's hash table.
 */
const responseBounds: JsonBounds = { values: 16_777_216, depth: 10_000, members: 1_048_576 };

/**
 * Thrown for a text that exceeds one of the {@link JsonBounds}, or contains a part that is too long to be parsed
 * without blocking the event loop.
 */
export class JsonLimitError extends Error {}

/**
 * Maximum length in bytes of a piece of the text that can't be split: a member name, a number or whitespace. The
 * content of a string can be split.
 */
const maxIndivisibleBytes = 4_194_304;
/**
 * Length of the parts into which a long string is split, as a multiple of `segmentBytes`. Strings parse much faster
 * than other values, so parsing such a part takes no more time than parsing one segment of other values.
 */
const segmentsPerStringPart = 16;
/** Number of bytes to scan between two checks of the clock. */
const scanBytes = 65_536;
/** Longest time, in milliseconds, to block the event loop before yielding. */
const maxBlockMs = 10;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses JSON like `JSON.parse`, without blocking the event loop: a large text is split at commas into
 * segments, `JSON.parse` parses each segment, and the event loop runs at least every 10 ms.
 *
 * @throws SyntaxError if the bytes are not JSON.
 * @throws {@link JsonLimitError} if the text exceeds a limit, or contains a part that can't be split and is too
 * long.
 */
export async function parseJson(
  chunks: readonly Uint8Array[],
  options: ParseJsonOptions = {},
): Promise<unknown> {
  const {
    signal,
    unsplitBytes = 262_144,
    segmentBytes = 65_536,
    bounds = responseBounds,
  } = options;
  const loopYielder = new LoopYielder(signal);
  const bytes = await concatenate(chunks, loopYielder);
  if (bytes.length <= unsplitBytes) {
    return JSON.parse(bytes.toString());
  }
  return new SegmentParser({ bytes, segmentBytes, bounds, yielder: loopYielder }).parse();
}

/** Yields to the event loop every 10 ms. */
class LoopYielder {
  readonly #signal: AbortSignal | undefined;
  #blockedSince = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Returns `undefined` if 10 ms have not passed yet, because creating a promise each time would be slow. */
  yieldIfDue(): Promise<void> | undefined {
    return performance.now() - this.#blockedSince < maxBlockMs ? undefined : this.#yieldNow();
  }

  async #yieldNow(): Promise<void> {
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#blockedSince = performance.now();
  }
}

/** Concatenates the chunks, and drops the byte order mark that a text may begin with. */
async function concatenate(
  chunks: readonly Uint8Array[],
  loopYielder: LoopYielder,
): Promise<Buffer> {
  const totalBytes = chunks.reduce((sum, { length }) => sum + length, 0);
  const bytes = Buffer.allocUnsafe(totalBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
    await loopYielder.yieldIfDue();
  }
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** A list whose items stay in segments until the whole text is parsed. Only then is the length of the list known. */
interface AssembledList {
  readonly kind: "list";
  /** Empty until the whole text is parsed. */
  readonly value: unknown[];
  /** The items of each segment, in order. */
  readonly segments: (readonly unknown[])[];
}

/** A list or an object that is assembled from segments. */
type AssembledContainer =
  | AssembledList
  | { readonly kind: "object"; readonly value: Record<string, unknown> };

/** A list or an object that is parsed in segments. */
interface LargeContainer {
  readonly start: number;
  readonly target: AssembledContainer;
  /** Start of the next segment: after the opening bracket, a comma, or a large value. */
  segmentStart: number;
  /** Whether a large value was just added and the comma after it has not been reached yet. */
  isAfterLargeValue: boolean;
  /** In objects: the name of the member whose large value is being parsed. */
  name: string;
  /** In objects: the number of members added so far. */
  memberCount: number;
}

/** Start and end of a string that is long enough to be parsed in parts. */
interface LongString {
  readonly start: number;
  readonly end: number;
}

/** Constructor arguments of {@link SegmentParser}. */
interface SegmentParserInit extends Required<Pick<ParseJsonOptions, "segmentBytes" | "bounds">> {
  readonly bytes: Buffer;
  readonly yielder: LoopYielder;
}

/**
 * Parses a text in segments, and scans each byte only once. A list or an object is large if it began more than
 * `segmentBytes` before the current position and is still open, so the large containers are always the outermost open
 * ones. The content of a large container is split at commas into segments, and `JSON.parse` parses each
 * segment and checks its grammar. This class checks only what lies between segments.
 */
class SegmentParser {
  readonly #bytes: Buffer;
  readonly #segmentBytes: number;
  readonly #bounds: JsonBounds;
  readonly #loopYielder: LoopYielder;
  #position = 0;
  #valueCount = 1;
  #isInString = false;
  #stringStart = 0;
  /** Position of the opening bracket of each list or object that is still open, the outermost first. */
  readonly #openStarts: number[] = [];
  /** For each open list or object: position of its last comma, or of its opening bracket if it has no comma yet. */
  readonly #lastCommas: number[] = [];
  /** The open lists and objects that are large, the outermost first. */
  readonly #largeContainers: LargeContainer[] = [];
  /** The large lists that have ended. They are filled when the whole text is parsed. */
  readonly #unfilledLists: AssembledList[] = [];
  #root: { readonly value: unknown } | undefined;

  constructor({ bytes, segmentBytes, bounds, yielder }: SegmentParserInit) {
    this.#bytes = bytes;
    this.#segmentBytes = segmentBytes;
    this.#bounds = bounds;
    this.#loopYielder = yielder;
  }

  async parse(): Promise<unknown> {
    const { length } = this.#bytes;
    while (this.#position < length) {
      const longString = this.#scan(Math.min(length, this.#position + scanBytes));
      if (longString !== undefined) {
        await this.#addLongString(longString);
      }
      await this.#loopYielder.yieldIfDue();
    }
    if (this.#openStarts.length > 0 || this.#isInString) {
      throw new SyntaxError("Unexpected end of JSON input");
    }
    if (this.#root === undefined) {
      return JSON.parse(this.#decode(0, length));
    }
    for (const list of this.#unfilledLists) {
      await this.#fillList(list);
    }
    return this.#root.value;
  }

  /**
   * Adds the items of all segments to a list. The list gets its final length first: a list of millions that grows item
   * by item is copied again and again, which would block the event loop for up to a third of a second.
   */
  async #fillList({ value, segments }: AssembledList): Promise<void> {
    value.length = segments.reduce((sum, { length }) => sum + length, 0);
    let index = 0;
    for (const items of segments) {
      for (const item of items) {
        value[index] = item;
        index += 1;
      }
      await this.#loopYielder.yieldIfDue();
    }
  }

  /** Scans up to `end`, or up to the end of a long string, which it returns. */
  #scan(end: number): LongString | undefined {
    while (this.#position < end) {
      if (this.#isInString) {
        const longString = this.#skipString(end);
        if (longString !== undefined) {
          return longString;
        }
      } else if (this.#root === undefined) {
        this.#scanOutsideStrings(end);
      } else {
        this.#skipWhitespace(end);
      }
    }
    return undefined;
  }

  #scanOutsideStrings(end: number): void {
    const bytes = this.#bytes;
    let position = this.#position;
    while (position < end && this.#root === undefined) {
      const byte = bytes[position];
      if (byte === quote) {
        this.#isInString = true;
        this.#stringStart = position;
        position += 1;
        break;
      }
      if (byte === comma) {
        this.#countValue();
        this.#enterLargeContainers(position);
        this.#onComma(position);
      } else if (byte === openBracket || byte === openBrace) {
        this.#countValue();
        this.#enterLargeContainers(position);
        this.#onOpeningBracket(position);
      } else if (byte === closeBracket || byte === closeBrace) {
        this.#onClosingBracket(position);
      }
      position += 1;
    }
    this.#position = position;
  }

  /** Skips to the closing quote of a string, or to `end`. Returns the string if it has ended and is long. */
  #skipString(end: number): LongString | undefined {
    const bytes = this.#bytes;
    let position = this.#position;
    while (position < end) {
      const byte = bytes[position];
      if (byte === backslash) {
        // Skip the escaped character, which may be a quote. It does not matter if this goes past `end`.
        position += 2;
      } else if (byte === quote) {
        this.#isInString = false;
        this.#position = position + 1;
        const stringStart = this.#stringStart;
        const isLong = position - stringStart > segmentsPerStringPart * this.#segmentBytes;
        return isLong && this.#isValue(stringStart)
          ? { start: stringStart, end: position + 1 }
          : undefined;
      } else {
        position += 1;
      }
    }
    this.#position = position;
    return undefined;
  }

  #skipWhitespace(end: number): void {
    for (let position = this.#position; position < end; position += 1) {
      const byte = this.#bytes[position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
        throw new SyntaxError("Unexpected text after the end of the JSON");
      }
    }
    this.#position = end;
  }

  #countValue(): void {
    this.#valueCount += 1;
    if (this.#valueCount > this.#bounds.values) {
      throw new JsonLimitError(`the response contains more than ${this.#bounds.values} values`);
    }
  }

  /** Whether the string at `start` is a value, not a member name. */
  #isValue(start: number): boolean {
    const depth = this.#openStarts.length;
    if (depth === 0 || this.#bytes[this.#openStarts[depth - 1] ?? 0] === openBracket) {
      return true;
    }
    const lastComma = this.#lastCommas[depth - 1] ?? 0;
    return this.#bytes.subarray(lastComma + 1, start).includes(":");
  }

  /** Starts to parse an open list or object in segments if it began more than `segmentBytes` before `position`. */
  #enterLargeContainers(position: number): void {
    while (this.#largeContainers.length < this.#openStarts.length) {
      const start = this.#openStarts[this.#largeContainers.length] ?? 0;
      if (position - start <= this.#segmentBytes) {
        return;
      }
      this.#enterLargeContainer(start);
    }
  }

  #enterLargeContainer(start: number): void {
    this.#beginLargeValue(start);
    const target: AssembledContainer =
      this.#bytes[start] === openBracket
        ? { kind: "list", value: [], segments: [] }
        : { kind: "object", value: {} };
    this.#largeContainers.push({
      start,
      target,
      segmentStart: start + 1,
      isAfterLargeValue: false,
      name: "",
      memberCount: 0,
    });
  }

  /**
   * Called at the start of a large value: adds the preceding values to the list or object around it, and reads the
   * member name of the large value.
   */
  #beginLargeValue(start: number): void {
    const parent = this.#largeContainers.at(-1);
    if (parent === undefined) {
      this.#readMemberName("list", 0, start);
      return;
    }
    if (parent.isAfterLargeValue) {
      throw new SyntaxError("A comma is missing in JSON");
    }
    const lastComma = this.#lastCommas[this.#largeContainers.length - 1] ?? 0;
    if (lastComma >= parent.segmentStart) {
      this.#addSegment(parent, lastComma);
      parent.segmentStart = lastComma + 1;
    }
    parent.name = this.#readMemberName(parent.target.kind, parent.segmentStart, start);
  }

  #addLargeValue(value: unknown, end: number): void {
    const parent = this.#largeContainers.at(-1);
    if (parent === undefined) {
      this.#root = { value };
      return;
    }
    if (parent.target.kind === "list") {
      parent.target.segments.push([value]);
    } else {
      setMember(parent.target.value, parent.name, value);
    }
    parent.segmentStart = end;
    parent.isAfterLargeValue = true;
  }

  #onOpeningBracket(position: number): void {
    this.#openStarts.push(position);
    this.#lastCommas.push(position);
    const { depth } = this.#bounds;
    if (this.#openStarts.length > depth) {
      throw new JsonLimitError(
        `the response contains lists and objects nested more than ${depth} deep`,
      );
    }
  }

  #onComma(position: number): void {
    const depth = this.#openStarts.length;
    const container =
      depth === this.#largeContainers.length ? this.#largeContainers.at(-1) : undefined;
    if (depth === 0) {
      throw new SyntaxError("Unexpected comma in JSON");
    }
    this.#lastCommas[depth - 1] = position;
    if (container === undefined) {
      return;
    }
    if (container.isAfterLargeValue) {
      this.#assertWhitespace(container.segmentStart, position);
      container.isAfterLargeValue = false;
      container.segmentStart = position + 1;
    } else if (position - container.segmentStart > this.#segmentBytes) {
      this.#addSegment(container, position);
      container.segmentStart = position + 1;
    }
  }

  #onClosingBracket(position: number): void {
    const depth = this.#openStarts.length;
    if (depth === 0) {
      throw new SyntaxError("Unexpected bracket in JSON");
    }
    if (depth === 1 && this.#largeContainers.length === 0) {
      this.#enterLargeContainer(this.#openStarts[0] ?? 0);
    }
    if (depth === this.#largeContainers.length) {
      const { target } = this.#finishContainer(position);
      this.#addLargeValue(target.value, position + 1);
    }
    this.#openStarts.pop();
    this.#lastCommas.pop();
  }

  #finishContainer(position: number): LargeContainer {
    const container = this.#largeContainers.pop();
    if (container === undefined) {
      throw new SyntaxError("Unexpected bracket in JSON");
    }
    const bracket = container.target.kind === "list" ? closeBracket : closeBrace;
    if (this.#bytes[position] !== bracket) {
      throw new SyntaxError("A bracket in JSON is closed by a bracket of another kind");
    }
    if (container.isAfterLargeValue) {
      this.#assertWhitespace(container.segmentStart, position);
    } else {
      this.#addSegment(container, position, {
        mayBeEmpty: container.segmentStart === container.start + 1,
      });
    }
    if (container.target.kind === "list") {
      this.#unfilledLists.push(container.target);
    }
    return container;
  }

  async #addLongString({ start: stringStart, end: stringEnd }: LongString): Promise<void> {
    // Every open container contains this string, and is therefore large.
    while (this.#largeContainers.length < this.#openStarts.length) {
      this.#enterLargeContainer(this.#openStarts[this.#largeContainers.length] ?? 0);
    }
    this.#beginLargeValue(stringStart);
    let text = "";
    for (let partStart = stringStart + 1; partStart < stringEnd - 1;) {
      const partEnd = this.#findStringPartEnd(partStart, stringEnd - 1);
      text += JSON.parse(`"${this.#bytes.toString("utf8", partStart, partEnd)}"`) as string;
      partStart = partEnd;
      await this.#loopYielder.yieldIfDue();
    }
    this.#addLargeValue(text, stringEnd);
  }

  /** Returns where the next part of a string can end without splitting an escape sequence or a UTF-8 character. */
  #findStringPartEnd(start: number, end: number): number {
    const bytes = this.#bytes;
    let partEnd = start + segmentsPerStringPart * this.#segmentBytes;
    if (partEnd >= end) {
      return end;
    }
    // The longest escape sequence has six bytes: \u0000.
    const lastBackslashOffset = bytes.subarray(partEnd - 5, partEnd).lastIndexOf(backslash);
    if (lastBackslashOffset !== -1) {
      let firstBackslash = partEnd - 5 + lastBackslashOffset;
      const lastBackslash = firstBackslash;
      while (firstBackslash > start && bytes[firstBackslash - 1] === backslash) {
        firstBackslash -= 1;
      }
      // Of several backslashes in a row, every second one is escaped by the one before it.
      partEnd = (lastBackslash - firstBackslash) % 2 === 0 ? lastBackslash : lastBackslash + 1;
    }
    while (partEnd < end && ((bytes[partEnd] ?? 0) & 0xc0) === 0x80) {
      partEnd += 1;
    }
    return partEnd;
  }

  /** Parses the bytes between `segmentStart` and `end`, and adds the values to the container. */
  #addSegment(container: LargeContainer, end: number, { mayBeEmpty = false } = {}): void {
    const text = this.#decode(container.segmentStart, end);
    const { target } = container;
    if (target.kind === "list") {
      const items = JSON.parse(`[${text}]`) as readonly unknown[];
      target.segments.push(items);
      assertHasValues(items.length > 0 || mayBeEmpty);
      return;
    }
    const members = JSON.parse(`{${text}}`) as Readonly<Record<string, unknown>>;
    const names = Object.keys(members);
    assertHasValues(names.length > 0 || mayBeEmpty);
    container.memberCount += names.length;
    const { members: maxMembers } = this.#bounds;
    if (container.memberCount > maxMembers) {
      throw new JsonLimitError(
        `the response contains an object of more than ${maxMembers} members`,
      );
    }
    for (const name of names) {
      setMember(target.value, name, members[name]);
    }
  }

  /** Reads the member name before a large value. In a list, only whitespace may stand there. */
  #readMemberName(kind: AssembledContainer["kind"], start: number, end: number): string {
    const text = this.#decode(start, end);
    if (kind === "list") {
      this.#assertWhitespace(start, end);
      return "";
    }
    const [name] = Object.keys(JSON.parse(`{${text}[]}`) as object);
    return name ?? "";
  }

  #assertWhitespace(start: number, end: number): void {
    if (this.#decode(start, end).trim() !== "") {
      throw new SyntaxError("Unexpected text between two values of JSON");
    }
  }

  #decode(start: number, end: number): string {
    if (end - start > maxIndivisibleBytes) {
      throw new JsonLimitError(
        `the response contains a member name, a number or whitespace of more than ${maxIndivisibleBytes} bytes`,
      );
    }
    return this.#bytes.toString("utf8", start, end);
  }
}

function assertHasValues(hasValues: boolean): void {
  if (!hasValues) {
    throw new SyntaxError("A value is missing in JSON");
  }
}

/** Sets a member as `JSON.parse` does: `__proto__` becomes an ordinary member. */
function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
    return;
  }
  object[name] = value;
}
