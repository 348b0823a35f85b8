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

/** Longer bodies are left to the TypeScript parser: the memory of a WebAssembly module never shrinks. */
const maxBodyBytes = 4_194_304;
/** Shorter values are left to the TypeScript parser, which is faster than copying them into the module. */
const minValueBytes = 256;
/** Member names, indexed by their code. */
const memberNames = Object.keys(member);
const pageBytes = 65_536;
const wordBytes = 4;
const doubleBytes = 8;

/** An exported global: its value is an address in the module's memory, or a number. */
interface ModuleGlobal {
  readonly value: number;
}

/** Exports of the module (wasm/walk/batch.ts). A `…Place` or `…At` is an address in the module's memory. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly bodyPlace: ModuleGlobal;
  readonly entriesPlace: ModuleGlobal;
  readonly membersPlace: ModuleGlobal;
  readonly textsPlace: ModuleGlobal;
  readonly packedPlace: ModuleGlobal;
  readonly nameAt: ModuleGlobal;
  readonly marginBytes: ModuleGlobal;
  readonly postFirst: ModuleGlobal;
  readonly postCount: ModuleGlobal;
  readonly patchFirst: ModuleGlobal;
  readonly patchCount: ModuleGlobal;
  /** Registers a member name, whose `size` bytes are at `nameAt`, under a code. */
  know(code: number, size: number): void;
  /** Parses the body of a batch. */
  walk(size: number): void;
  /** Validates a single JSON value. */
  walkValue(size: number): void;
  /** Rows in the table of texts. */
  textsTold(): number;
  /** Bytes of the packed texts. */
  bytesPacked(): number;
  /** Rows in the table of members, without those that `listMembers` appended. */
  membersTold(): number;
  /** Appends the members of an object at an offset of the body to the table. Returns their number. */
  listMembers(offset: number): number;
}

/** The part of the WebAssembly API that is used here. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  readonly RuntimeError: new () => Error;
}

/** Returns the walk of this thread, created on first use; `undefined` where WebAssembly is not available. */
export function getBatchWalk(): BatchWalk | undefined {
  shared ??= BatchWalk.create() ?? "none";
  return shared === "none" ? undefined : shared;
}

let shared: BatchWalk | "none" | undefined;

/** Consecutive entries of the table of entries. */
interface EntryRange {
  readonly first: number;
  readonly count: number;
}

/**
 * Parses the body of `POST /runs/batch` in a WebAssembly module. The module validates the JSON, records where each
 * run has its members, and marks the ordinary posts, which need no further checks. The results are valid until the
 * next walk.
 */
export class BatchWalk {
  /** The parsed body, in the module's memory. */
  body: Buffer = Buffer.alloc(0);
  readonly #module: Module;
  readonly #trap: WebAssemblyApi["RuntimeError"];
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
      // Only slower: the TypeScript parser handles all batches.
      return undefined;
    }
  }

  private constructor() {
    const api = Reflect.get(globalThis, "WebAssembly") as WebAssemblyApi;
    const instance = new api.Instance(new api.Module(Buffer.from(walkModule, "base64")), {});
    this.#trap = api.RuntimeError;
    this.#module = instance.exports as Module;
    const { memory, nameAt, entriesPlace, membersPlace, textsPlace } = this.#module;
    const names = Buffer.from(memory.buffer, nameAt.value);
    for (const [name, code] of Object.entries(member)) {
      this.#module.know(code, names.write(name, "latin1"));
    }
    this.#entriesAt = entriesPlace.value / wordBytes;
    this.#membersAt = membersPlace.value / wordBytes;
    this.#textsAt = textsPlace.value / wordBytes;
    this.#refreshViews();
  }

  /**
   * Parses a body, given as chunks. Returns false if the module can't parse it: the TypeScript parser then handles
   * the batch and reports the error, if there is one.
   */
  walk(chunks: readonly Buffer[]): boolean {
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    if (!this.#ensureCapacity(size)) {
      return false;
    }
    const { memory, bodyPlace } = this.#module;
    this.body = Buffer.from(memory.buffer, bodyPlace.value, size);
    let at = 0;
    for (const chunk of chunks) {
      this.body.set(chunk, at);
      at += chunk.length;
    }
    if (!isUtf8(this.body) || !this.#completes(() => this.#module.walk(size))) {
      return false;
    }
    this.#readPacked();
    return true;
  }

  /**
   * Whether UTF-8 text is one JSON value. Also returns false where the text is too short or too long for the
   * module.
   */
  isJson(text: Buffer): boolean {
    const { length } = text;
    if (length < minValueBytes || !this.#ensureCapacity(length)) {
      return false;
    }
    this.#bytes.set(text, this.#module.bodyPlace.value);
    return this.#completes(() => this.#module.walkValue(length));
  }

  get posts(): EntryRange {
    return { first: this.#module.postFirst.value, count: this.#module.postCount.value };
  }

  get patches(): EntryRange {
    return { first: this.#module.patchFirst.value, count: this.#module.patchCount.value };
  }

  /** Reads a field of an entry by its index in {@link field}. */
  word(entry: number, fieldIndex: number): number {
    return this.#words[this.#entriesAt + entry * entryWords + fieldIndex] ?? 0;
  }

  /** Reads a time, a number of two words; `null` where it is absent. */
  micros(entry: number, fieldIndex: number): number | null {
    const at = (this.#entriesAt + entry * entryWords + fieldIndex) * (wordBytes / doubleBytes);
    const value = this.#doubles[at] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** Reads a field of a member by its index in `memberField`. */
  memberWord(index: number, fieldIndex: number): number {
    return this.#words[this.#membersAt + index * memberWords + fieldIndex] ?? 0;
  }

  /** The name of a member of a run, or of an object within a run. */
  memberName(index: number): string {
    const code = this.memberWord(index, memberField.code);
    return code === memberCodes
      ? decodeText(this.#slice(index, memberField.nameAt, memberField.nameEnd))
      : (memberNames[code] ?? "");
  }

  memberValue(index: number): Buffer {
    return this.#slice(index, memberField.from, memberField.to);
  }

  /**
   * The members of an object that is a slice of {@link body}; `undefined` if there are too many. A later member
   * replaces an earlier one of the same name.
   */
  membersOf(json: Buffer): ReadonlyMap<string, Buffer> | undefined {
    const offset = json.byteOffset - this.body.byteOffset;
    let count = 0;
    if (!this.#completes(() => (count = this.#module.listMembers(offset)))) {
      return undefined;
    }
    const members = new Map<string, Buffer>();
    const first = this.#module.membersTold();
    for (let index = first; index < first + count; index += 1) {
      members.set(this.memberName(index), this.memberValue(index));
    }
    return members;
  }

  /** The value of a text column; `null` where the run has none. */
  text(entry: number, fieldIndex: number): string | null {
    const index = this.word(entry, fieldIndex);
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

  /**
   * Decodes all packed texts in one call: one call for each text would cost more. Texts are slices of the result.
   */
  #readPacked(): void {
    const { memory, packedPlace } = this.#module;
    const packed = Buffer.from(memory.buffer, packedPlace.value, this.#module.bytesPacked());
    this.#packed = packed.toString("latin1");
    this.#texts = Array.from<string | undefined>({ length: this.#module.textsTold() });
  }

  /** Whether a walk completes. The module traps (throws a RuntimeError) on everything that it can't parse. */
  #completes(walk: () => unknown): boolean {
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

  /** Grows the module's memory for a body of `size` bytes. Returns false if that is not possible. */
  #ensureCapacity(size: number): boolean {
    if (size > maxBodyBytes) {
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
      return false; // Memory can't grow: the TypeScript parser handles the body.
    }
    this.#refreshViews();
    return true;
  }

  /** Memory that grows gets a new ArrayBuffer, which detaches the views. */
  #refreshViews(): void {
    const { buffer } = this.#module.memory;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Int32Array(buffer);
    this.#doubles = new Float64Array(buffer);
  }
}
