import { isUtf8 } from "node:buffer";
import { decodeText } from "../../bodies/json-text.ts";
import {
  entryWords,
  field,
  member,
  memberCodes,
  memberField,
  memberWords,
  textField,
  textWords,
} from "./walk-layout.ts";
import { walkModule } from "./walk-module.ts";

/** The longest body that is walked over: the module's memory never gets smaller. */
const longestBody = 4_194_304;
/** Shorter texts are checked before they are copied. */
const shortestValue = 256;
/** By code. */
const memberNames = Object.keys(member);
const pageBytes = 65_536;
const wordBytes = 4;
const doubleBytes = 8;

interface WalkPosition {
  readonly value: number;
}

/** What the module has (wasm/walk/batch.ts). Addresses are of its memory. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly bodyPlace: WalkPosition;
  readonly entriesPlace: WalkPosition;
  readonly membersPlace: WalkPosition;
  readonly textsPlace: WalkPosition;
  readonly packedPlace: WalkPosition;
  readonly nameAt: WalkPosition;
  readonly marginBytes: WalkPosition;
  readonly postFirst: WalkPosition;
  readonly postCount: WalkPosition;
  readonly patchFirst: WalkPosition;
  readonly patchCount: WalkPosition;
  know(code: number, size: number): void;
  walk(size: number): void;
  walkValue(size: number): void;
  textsTold(): number;
  bytesPacked(): number;
  membersTold(): number;
  listMembers(place: number): number;
}

/** The part of the interface of WebAssembly that is used. */
interface Engine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  readonly RuntimeError: new () => Error;
}

/** The thread's, made when it is asked for first. */
export function findWalk(): BatchWalk | undefined {
  found ??= BatchWalk.create() ?? "none";
  return found === "none" ? undefined : found;
}

let found: BatchWalk | "none" | undefined;

/** Entries side by side. */
interface EntryRange {
  readonly first: number;
  readonly count: number;
}

/**
 * Walks over the body of `POST /runs/batch` by a module of WebAssembly: checks that it is JSON, finds where its runs have
 * what, and which posts are ordinary ones, of which nothing is left to check. What was found is there until the next walk.
 */
export class BatchWalk {
  /** The body that was walked over, in the module's memory. */
  body: Buffer = Buffer.alloc(0);
  readonly #module: Module;
  readonly #trap: Engine["RuntimeError"];
  readonly #entriesAt: number;
  readonly #membersAt: number;
  readonly #textsAt: number;
  #bytes: Uint8Array = new Uint8Array();
  #words: Int32Array = new Int32Array();
  #doubles: Float64Array = new Float64Array();
  #packed = "";
  #texts: (string | undefined)[] = [];

  /** `undefined` where the process has no WebAssembly, or no memory for it. */
  static create(): BatchWalk | undefined {
    try {
      return new BatchWalk();
    } catch {
      // Nothing is lost by it but time: there is the other way.
      return undefined;
    }
  }

  private constructor() {
    const engine = Reflect.get(globalThis, "WebAssembly") as Engine;
    const instance = new engine.Instance(new engine.Module(Buffer.from(walkModule, "base64")), {});
    this.#trap = engine.RuntimeError;
    this.#module = instance.exports as Module;
    const { memory, nameAt, entriesPlace, membersPlace, textsPlace } = this.#module;
    const names = Buffer.from(memory.buffer, nameAt.value);
    for (const [name, code] of Object.entries(member)) {
      this.#module.know(code, names.write(name, "latin1"));
    }
    this.#entriesAt = entriesPlace.value / wordBytes;
    this.#membersAt = membersPlace.value / wordBytes;
    this.#textsAt = textsPlace.value / wordBytes;
    this.#look();
  }

  /** Walks over a body in pieces. Returns false: the TypeScript parser handles the batch and reports the error, if there is one. */
  walk(pieces: readonly Buffer[]): boolean {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (!this.#reach(size)) {
      return false;
    }
    const { memory, bodyPlace } = this.#module;
    this.body = Buffer.from(memory.buffer, bodyPlace.value, size);
    let at = 0;
    for (const piece of pieces) {
      this.body.set(piece, at);
      at += piece.length;
    }
    if (!isUtf8(this.body) || !this.#goes(() => this.#module.walk(size))) {
      return false;
    }
    this.#readPacked();
    return true;
  }

  /** Whether UTF-8 is one JSON value. False also where it is too short or too long to be worth it. */
  isJson(text: Buffer): boolean {
    const { length } = text;
    if (length < shortestValue || !this.#reach(length)) {
      return false;
    }
    this.#bytes.set(text, this.#module.bodyPlace.value);
    return this.#goes(() => this.#module.walkValue(length));
  }

  get posts(): EntryRange {
    return { first: this.#module.postFirst.value, count: this.#module.postCount.value };
  }

  get patches(): EntryRange {
    return { first: this.#module.patchFirst.value, count: this.#module.patchCount.value };
  }

  /** A word of an entry: see {@link field}. */
  word(entry: number, place: number): number {
    return this.#words[this.#entriesAt + entry * entryWords + place] ?? 0;
  }

  /** A number of two words; `null` where it is absent. */
  micros(entry: number, place: number): number | null {
    const at = (this.#entriesAt + entry * entryWords + place) * (wordBytes / doubleBytes);
    const value = this.#doubles[at] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** A word of a run's member: see `memberField`. */
  memberWord(index: number, place: number): number {
    return this.#words[this.#membersAt + index * memberWords + place] ?? 0;
  }

  /** The name of a run's member, or of an object's in it. */
  memberName(index: number): string {
    const code = this.memberWord(index, memberField.code);
    return code === memberCodes
      ? decodeText(this.#slice(index, memberField.nameAt, memberField.nameEnd))
      : (memberNames[code] ?? "");
  }

  memberValue(index: number): Buffer {
    return this.#slice(index, memberField.from, memberField.to);
  }

  /** The members of an object that is a part of {@link body}; `undefined` where they are too many. Of equal names the last one counts. */
  membersOf(json: Buffer): ReadonlyMap<string, Buffer> | undefined {
    const place = json.byteOffset - this.body.byteOffset;
    let count = 0;
    if (!this.#goes(() => (count = this.#module.listMembers(place)))) {
      return undefined;
    }
    const members = new Map<string, Buffer>();
    const first = this.#module.membersTold();
    for (let index = first; index < first + count; index += 1) {
      members.set(this.memberName(index), this.memberValue(index));
    }
    return members;
  }

  /** The text of a column; `null` where the run has none. */
  text(entry: number, place: number): string | null {
    const index = this.word(entry, place);
    return index === -1 ? null : (this.#texts[index] ??= this.#readText(index));
  }

  dottedOrder(entry: number): string {
    const from = this.word(entry, field.dottedFrom);
    return this.#packed.slice(from, from + this.word(entry, field.dottedSize));
  }

  #slice(index: number, from: number, to: number): Buffer {
    return this.body.subarray(this.memberWord(index, from), this.memberWord(index, to));
  }

  #readText(index: number): string {
    const row = this.#textsAt + index * textWords;
    const size = this.#words[row + textField.size] ?? 0;
    const packed = this.#words[row + textField.packed] ?? 0;
    if (packed !== -1) {
      return this.#packed.slice(packed, packed + size);
    }
    const at = this.#words[row + textField.at] ?? 0;
    return this.body.toString("utf8", at, at + size);
  }

  /** One text of which the others are parts: each made alone would take a call. */
  #readPacked(): void {
    const { memory, packedPlace } = this.#module;
    const packed = Buffer.from(memory.buffer, packedPlace.value, this.#module.bytesPacked());
    this.#packed = packed.toString("latin1");
    this.#texts = Array.from<string | undefined>({ length: this.#module.textsTold() });
  }

  /** Whether a walk comes to its end. */
  #goes(walk: () => unknown): boolean {
    try {
      walk();
      return true;
    } catch (cause) {
      if (!(cause instanceof this.#trap)) {
        throw cause;
      }
      return false;
    }
  }

  /** Whether there is room for a body of so many bytes. */
  #reach(size: number): boolean {
    if (size > longestBody) {
      return false;
    }
    const { memory, bodyPlace, marginBytes } = this.#module;
    const missing = bodyPlace.value + size + marginBytes.value - memory.buffer.byteLength;
    if (missing <= 0) {
      return true;
    }
    try {
      memory.grow(Math.ceil(missing / pageBytes));
    } catch {
      return false; // It can't grow: there is the other way.
    }
    this.#look();
    return true;
  }

  #look(): void {
    const { buffer } = this.#module.memory;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Int32Array(buffer);
    this.#doubles = new Float64Array(buffer);
  }
}
