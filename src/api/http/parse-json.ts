import { setImmediate as nextTurn } from "node:timers/promises";

/** How an answer is parsed. */
export interface ParseJsonOptions {
  /** Ends the parsing at its next pause. */
  readonly signal?: AbortSignal | undefined;
  /** Answers up to this size are parsed at once. @defaultValue 262,144 */
  readonly atOnceBytes?: number;
  /** Size from which a list or an object is taken apart. @defaultValue 65,536 */
  readonly pieceBytes?: number;
  /** @defaultValue {@link responseBounds} */
  readonly bounds?: JsonBounds;
}

/** What an answer may hold that is taken apart. */
interface JsonBounds {
  /** Commas and opening brackets: there are no more values than these. */
  readonly values: number;
  /** Lists and objects inside one another. */
  readonly depth: number;
  /** Members of one object. */
  readonly members: number;
}

/**
 * Each value may be an object of its own: the emptiest take 0.7 GB of memory. An object that grows beyond a
 * million members would block the loop each time V8 gives it a larger table.
 */
const responseBounds: JsonBounds = { values: 16_777_216, depth: 10_000, members: 1_048_576 };

/** An answer is JSON, and holds more than this program should take. */
export class JsonLimitError extends Error {}

/** What is longer and no text's content can only be a name, a number or a gap. */
const indivisibleBytes = 4_194_304;
/** What a part of a long text holds, in pieces: nothing but a text is made in the time of so many. */
const partPieces = 16;
/** Bytes that are looked at between two looks at the clock. */
const sliceBytes = 65_536;
/** How long the event loop is kept at a time. */
const turnMs = 10;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * What `JSON.parse` makes of these bytes, without blocking the event loop: a large text is taken apart
 * at its commas, `JSON.parse` makes the pieces, and the loop has a turn every 10 ms.
 *
 * @throws SyntaxError it is not JSON.
 * @throws {@link JsonLimitError} it holds too many values, or a part that can't be taken apart is too long.
 */
export async function parseJson(
  chunks: readonly Uint8Array[],
  options: ParseJsonOptions = {},
): Promise<unknown> {
  const { signal, atOnceBytes = 262_144, pieceBytes = 65_536, bounds = responseBounds } = options;
  const turns = new Turns(signal);
  const bytes = await joined(chunks, turns);
  if (bytes.length <= atOnceBytes) {
    return JSON.parse(bytes.toString());
  }
  return new PiecewiseParser({ bytes, pieceBytes, bounds, turns }).parse();
}

/** Gives the event loop a turn every 10 ms. */
class Turns {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** `undefined` while there is time left: waiting for nothing would cost a turn of promises. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#since < turnMs ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/** The chunks as one, without the byte order mark that texts may begin with. */
async function joined(chunks: readonly Uint8Array[], turns: Turns): Promise<Buffer> {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
    await turns.next();
  }
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** A list or an object that is being put together from pieces. */
type Target =
  | { readonly kind: "list"; readonly value: unknown[] }
  | { readonly kind: "object"; readonly value: Record<string, unknown> };

interface LargeContainer {
  readonly start: number;
  readonly target: Target;
  /** Where the next piece begins: behind the bracket, a comma, or a large value. */
  pieceStart: number;
  /** A large value was added, and no comma came since. */
  isBehindLarge: boolean;
  /** The member that a large value inside is the value of; unused in lists. */
  name: string;
  /** Added so far, of an object. */
  members: number;
}

/** A text whose content is long enough to be made in parts. */
interface LongText {
  readonly from: number;
  readonly to: number;
}

interface PiecewiseInit extends Required<Pick<ParseJsonOptions, "pieceBytes" | "bounds">> {
  readonly bytes: Buffer;
  readonly turns: Turns;
}

/**
 * Looks at each byte once. Of the containers that are open, the outermost are large: they began more
 * than `pieceBytes` ago. What is inside a large one goes to `JSON.parse` in pieces, cut at commas; so
 * the grammar is checked by `JSON.parse`, but for what is at the seams.
 */
class PiecewiseParser {
  readonly #bytes: Buffer;
  readonly #pieceBytes: number;
  readonly #bounds: JsonBounds;
  readonly #turns: Turns;
  #at = 0;
  #values = 1;
  #isInText = false;
  #textStart = 0;
  /** Of each container that is open: where it began, and its last comma, or where it began. */
  readonly #starts: number[] = [];
  readonly #commas: number[] = [];
  /** The outermost of them. */
  readonly #large: LargeContainer[] = [];
  #root: { readonly value: unknown } | undefined;

  constructor({ bytes, pieceBytes, bounds, turns }: PiecewiseInit) {
    this.#bytes = bytes;
    this.#pieceBytes = pieceBytes;
    this.#bounds = bounds;
    this.#turns = turns;
  }

  async parse(): Promise<unknown> {
    const { length } = this.#bytes;
    while (this.#at < length) {
      const longText = this.#scan(Math.min(length, this.#at + sliceBytes));
      if (longText !== undefined) {
        await this.#addLongText(longText);
      }
      await this.#turns.next();
    }
    if (this.#starts.length > 0 || this.#isInText) {
      throw new SyntaxError("Unexpected end of JSON input");
    }
    return this.#root === undefined ? JSON.parse(this.#textOf(0, length)) : this.#root.value;
  }

  /** Up to `end`, or behind a long text. */
  #scan(end: number): LongText | undefined {
    while (this.#at < end) {
      if (this.#isInText) {
        const longText = this.#skipText(end);
        if (longText !== undefined) {
          return longText;
        }
      } else if (this.#root === undefined) {
        this.#scanTokens(end);
      } else {
        this.#skipBlanks(end);
      }
    }
    return undefined;
  }

  #scanTokens(end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < end && this.#root === undefined) {
      const byte = bytes[at];
      if (byte === quote) {
        this.#isInText = true;
        this.#textStart = at;
        at += 1;
        break;
      }
      if (byte === comma) {
        this.#count();
        this.#promote(at);
        this.#separate(at);
      } else if (byte === openBracket || byte === openBrace) {
        this.#count();
        this.#promote(at);
        this.#open(at);
      } else if (byte === closeBracket || byte === closeBrace) {
        this.#close(at);
      }
      at += 1;
    }
    this.#at = at;
  }

  /** Up to the quote that ends the text, which may be long. */
  #skipText(end: number): LongText | undefined {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < end) {
      const byte = bytes[at];
      if (byte === backslash) {
        // What is escaped may be a quote. The end of the slice does not matter to it.
        at += 2;
      } else if (byte === quote) {
        this.#isInText = false;
        this.#at = at + 1;
        const from = this.#textStart;
        return at - from > partPieces * this.#pieceBytes && this.#isValue(from)
          ? { from, to: at + 1 }
          : undefined;
      } else {
        at += 1;
      }
    }
    this.#at = at;
    return undefined;
  }

  #skipBlanks(end: number): void {
    for (let at = this.#at; at < end; at += 1) {
      const byte = this.#bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
        throw new SyntaxError("Unexpected text behind the end of the JSON");
      }
    }
    this.#at = end;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#bounds.values) {
      throw new JsonLimitError(`the answer holds more than ${this.#bounds.values} values`);
    }
  }

  /** Whether the text at `from` is no name of a member. */
  #isValue(from: number): boolean {
    const depth = this.#starts.length;
    if (depth === 0 || this.#bytes[this.#starts[depth - 1] ?? 0] === openBracket) {
      return true;
    }
    const lastComma = this.#commas[depth - 1] ?? 0;
    return this.#bytes.subarray(lastComma + 1, from).includes(":");
  }

  /** Makes large what began more than a piece ago. */
  #promote(at: number): void {
    while (this.#large.length < this.#starts.length) {
      const start = this.#starts[this.#large.length] ?? 0;
      if (at - start <= this.#pieceBytes) {
        return;
      }
      this.#enter(start);
    }
  }

  #enter(start: number): void {
    this.#beginLarge(start);
    const target: Target =
      this.#bytes[start] === openBracket
        ? { kind: "list", value: [] }
        : { kind: "object", value: {} };
    this.#large.push({
      start,
      target,
      pieceStart: start + 1,
      isBehindLarge: false,
      name: "",
      members: 0,
    });
  }

  /** Adds what is before a large value, and reads what it is the value of. */
  #beginLarge(start: number): void {
    const parent = this.#large.at(-1);
    if (parent === undefined) {
      this.#nameOf("list", 0, start);
      return;
    }
    if (parent.isBehindLarge) {
      throw new SyntaxError("A comma is missing in JSON");
    }
    const lastComma = this.#commas[this.#large.length - 1] ?? 0;
    if (lastComma >= parent.pieceStart) {
      this.#addPiece(parent, lastComma);
      parent.pieceStart = lastComma + 1;
    }
    parent.name = this.#nameOf(parent.target.kind, parent.pieceStart, start);
  }

  #endLarge(value: unknown, end: number): void {
    const parent = this.#large.at(-1);
    if (parent === undefined) {
      this.#root = { value };
      return;
    }
    if (parent.target.kind === "list") {
      parent.target.value.push(value);
    } else {
      setMember(parent.target.value, parent.name, value);
    }
    parent.pieceStart = end;
    parent.isBehindLarge = true;
  }

  #open(at: number): void {
    this.#starts.push(at);
    this.#commas.push(at);
    const { depth } = this.#bounds;
    if (this.#starts.length > depth) {
      throw new JsonLimitError(
        `the answer holds more than ${depth} lists and objects in one another`,
      );
    }
  }

  /** A comma. */
  #separate(at: number): void {
    const depth = this.#starts.length;
    const current = depth === this.#large.length ? this.#large.at(-1) : undefined;
    if (depth === 0) {
      throw new SyntaxError("Unexpected comma in JSON");
    }
    this.#commas[depth - 1] = at;
    if (current === undefined) {
      return;
    }
    if (current.isBehindLarge) {
      this.#assertBlank(current.pieceStart, at);
      current.isBehindLarge = false;
      current.pieceStart = at + 1;
    } else if (at - current.pieceStart > this.#pieceBytes) {
      this.#addPiece(current, at);
      current.pieceStart = at + 1;
    }
  }

  #close(at: number): void {
    const depth = this.#starts.length;
    if (depth === 0) {
      throw new SyntaxError("Unexpected bracket in JSON");
    }
    if (depth === 1 && this.#large.length === 0) {
      this.#enter(this.#starts[0] ?? 0);
    }
    if (depth === this.#large.length) {
      const { target } = this.#endContainer(at);
      this.#endLarge(target.value, at + 1);
    }
    this.#starts.pop();
    this.#commas.pop();
  }

  #endContainer(at: number): LargeContainer {
    const current = this.#large.pop();
    if (current === undefined) {
      throw new SyntaxError("Unexpected bracket in JSON");
    }
    const bracket = current.target.kind === "list" ? closeBracket : closeBrace;
    if (this.#bytes[at] !== bracket) {
      throw new SyntaxError("A bracket in JSON is closed by one of another kind");
    }
    if (current.isBehindLarge) {
      this.#assertBlank(current.pieceStart, at);
    } else {
      this.#addPiece(current, at, { mayBeEmpty: current.pieceStart === current.start + 1 });
    }
    return current;
  }

  async #addLongText({ from, to }: LongText): Promise<void> {
    // All that is open holds it, and is as large.
    while (this.#large.length < this.#starts.length) {
      this.#enter(this.#starts[this.#large.length] ?? 0);
    }
    this.#beginLarge(from);
    let text = "";
    for (let start = from + 1; start < to - 1;) {
      const end = this.#partEnd(start, to - 1);
      text += JSON.parse(`"${this.#bytes.toString("utf8", start, end)}"`) as string;
      start = end;
      await this.#turns.next();
    }
    this.#endLarge(text, to);
  }

  /** Where the next part of a text can end: neither in an escape nor in a character. */
  #partEnd(start: number, end: number): number {
    const bytes = this.#bytes;
    let cut = start + partPieces * this.#pieceBytes;
    if (cut >= end) {
      return end;
    }
    // The longest escape has six bytes: \u0000.
    const last = bytes.subarray(cut - 5, cut).lastIndexOf(backslash);
    if (last !== -1) {
      let first = cut - 5 + last;
      const lastAt = first;
      while (first > start && bytes[first - 1] === backslash) {
        first -= 1;
      }
      // Of backslashes in a row each second one is escaped by the one before it.
      cut = (lastAt - first) % 2 === 0 ? lastAt : lastAt + 1;
    }
    while (cut < end && ((bytes[cut] ?? 0) & 0xc0) === 0x80) {
      cut += 1;
    }
    return cut;
  }

  /** What is between `pieceStart` and `end`. */
  #addPiece(container: LargeContainer, end: number, { mayBeEmpty = false } = {}): void {
    const text = this.#textOf(container.pieceStart, end);
    const { target } = container;
    if (target.kind === "list") {
      const items = JSON.parse(`[${text}]`) as readonly unknown[];
      for (const item of items) {
        target.value.push(item);
      }
      assertSome(items.length > 0 || mayBeEmpty);
      return;
    }
    const members = JSON.parse(`{${text}}`) as Readonly<Record<string, unknown>>;
    const names = Object.keys(members);
    assertSome(names.length > 0 || mayBeEmpty);
    container.members += names.length;
    const { members: membersMax } = this.#bounds;
    if (container.members > membersMax) {
      throw new JsonLimitError(`the answer holds an object of more than ${membersMax} members`);
    }
    for (const name of names) {
      setMember(target.value, name, members[name]);
    }
  }

  /** The name before a large value; nothing but blanks may stand before one in a list. */
  #nameOf(kind: Target["kind"], from: number, to: number): string {
    const text = this.#textOf(from, to);
    if (kind === "list") {
      this.#assertBlank(from, to);
      return "";
    }
    const [name] = Object.keys(JSON.parse(`{${text}[]}`) as object);
    return name ?? "";
  }

  #assertBlank(from: number, to: number): void {
    if (this.#textOf(from, to).trim() !== "") {
      throw new SyntaxError("Unexpected text between two values of JSON");
    }
  }

  #textOf(from: number, to: number): string {
    if (to - from > indivisibleBytes) {
      throw new JsonLimitError(
        `the answer holds a name, a number or a gap of more than ${indivisibleBytes} bytes`,
      );
    }
    return this.#bytes.toString("utf8", from, to);
  }
}

function assertSome(isSome: boolean): void {
  if (!isSome) {
    throw new SyntaxError("A value is missing in JSON");
  }
}

/** As `JSON.parse` does: a member of this name is one like the others. */
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
