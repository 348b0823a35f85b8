import { isUtf8 } from "node:buffer";
import { decodeText } from "../../bodies/json-text.ts";
import { knownNames } from "./batch-index.ts";
import type { BatchIndex } from "./batch-index.ts";
import { rowLimits, memberField, wordsPerMember, wordsPerRun } from "./walk-layout.ts";
import { walkModule } from "./walk-module.ts";

/** Longer bodies are indexed in TypeScript, because the memory of a WebAssembly module never shrinks. */
const maxBodyBytes = 4_194_304;
/** Shorter values are validated in TypeScript, which is faster than copying them into the module. */
const minValueBytes = 256;
const pageBytes = 65_536;

/** An exported global of the module. Its value is an address in the module's memory, or a number. */
interface ModuleGlobal {
  readonly value: number;
}

/**
 * Exports of the module, which is compiled from wasm/walk/batch.ts. A global whose name ends in `Address` is an
 * address in the module's memory.
 */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly bodyAddress: ModuleGlobal;
  readonly runsAddress: ModuleGlobal;
  readonly membersAddress: ModuleGlobal;
  readonly nameAddress: ModuleGlobal;
  readonly marginBytes: ModuleGlobal;
  readonly postFirst: ModuleGlobal;
  readonly postCount: ModuleGlobal;
  readonly patchFirst: ModuleGlobal;
  readonly patchCount: ModuleGlobal;
  /** Registers a code for a member name. The `size` bytes of the name must be at the address `nameAddress`. */
  registerName(code: number, size: number): void;
  /** Indexes the body of a batch. */
  walk(size: number): void;
  /** Validates a single JSON value. */
  walkValue(size: number): void;
  /** Number of rows in the table of members, without those that `listMembers` appended. */
  countMembers(): number;
  /** Appends the members of an object at an offset of the body to the table. Returns their number. */
  listMembers(offset: number): number;
}

/** The part of the WebAssembly API that is used here. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  readonly RuntimeError: new () => Error;
}

/** Returns the indexer of this thread, created on first use; `undefined` where WebAssembly is not available. */
export function getBatchWalk(): BatchWalk | undefined {
  sharedWalk ??= BatchWalk.create() ?? "none";
  return sharedWalk === "none" ? undefined : sharedWalk;
}

let sharedWalk: BatchWalk | "none" | undefined;

/**
 * Indexes the body of `POST /runs/batch` in a WebAssembly module, which checks the JSON and finds the members of each
 * run. It does not check whether the runs are valid. An index is valid until the next call of {@link BatchWalk.walk}.
 */
export class BatchWalk {
  readonly #module: Module;
  readonly #trapError: WebAssemblyApi["RuntimeError"];
  /** The indexed body, in the module's memory. */
  #body: Buffer = Buffer.alloc(0);
  #bytes: Uint8Array = new Uint8Array();
  #runs: Int32Array = new Int32Array();
  #members: Int32Array = new Int32Array();

  /** Returns `undefined` where the process has no WebAssembly, or no memory for it. */
  static create(): BatchWalk | undefined {
    try {
      return new BatchWalk();
    } catch {
      // The TypeScript indexer, which is only slower, handles all batches.
      return undefined;
    }
  }

  private constructor() {
    const api = Reflect.get(globalThis, "WebAssembly") as WebAssemblyApi;
    const instance = new api.Instance(new api.Module(Buffer.from(walkModule, "base64")), {});
    this.#trapError = api.RuntimeError;
    this.#module = instance.exports as Module;
    const { memory, nameAddress } = this.#module;
    const nameBuffer = Buffer.from(memory.buffer, nameAddress.value);
    knownNames.forEach((name, code) =>
      this.#module.registerName(code, nameBuffer.write(name, "latin1")),
    );
    this.#refreshViews();
  }

  /**
   * Indexes a body, given as chunks. Returns `undefined` if the module can't index it: the TypeScript indexer then
   * handles the batch and reports the error, if there is one.
   */
  walk(chunks: readonly Buffer[]): BatchIndex | undefined {
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    if (!this.#ensureCapacity(size)) {
      return undefined;
    }
    const { memory, bodyAddress, postFirst, postCount, patchFirst, patchCount } = this.#module;
    const body = Buffer.from(memory.buffer, bodyAddress.value, size);
    let offset = 0;
    for (const chunk of chunks) {
      body.set(chunk, offset);
      offset += chunk.length;
    }
    if (!isUtf8(body) || !this.#callModule(() => this.#module.walk(size))) {
      return undefined;
    }
    this.#body = body;
    return {
      body,
      names: knownNames,
      runs: this.#runs,
      members: this.#members,
      lists: {
        post: { first: postFirst.value, count: postCount.value },
        patch: { first: patchFirst.value, count: patchCount.value },
      },
    };
  }

  /**
   * Whether a UTF-8 text is one JSON value. Also returns false if the text is too short or too long for the module.
   */
  isJson(text: Buffer): boolean {
    const { length } = text;
    if (length < minValueBytes || !this.#ensureCapacity(length)) {
      return false;
    }
    this.#bytes.set(text, this.#module.bodyAddress.value);
    return this.#callModule(() => this.#module.walkValue(length));
  }

  /**
   * Returns the members of an object that is a slice of the indexed body; `undefined` if there are too many. A later
   * member replaces an earlier member of the same name.
   */
  findMembers(json: Buffer): ReadonlyMap<string, Buffer> | undefined {
    const offset = json.byteOffset - this.#body.byteOffset;
    let count = 0;
    if (!this.#callModule(() => (count = this.#module.listMembers(offset)))) {
      return undefined;
    }
    const members = new Map<string, Buffer>();
    const firstRow = this.#module.countMembers();
    for (let row = firstRow; row < firstRow + count; row += 1) {
      const code = this.#members[row * wordsPerMember + memberField.code] ?? 0;
      const name =
        knownNames[code] ??
        decodeText(this.#slice(row, memberField.nameStart, memberField.nameEnd));
      members.set(name, this.#slice(row, memberField.valueStart, memberField.valueEnd));
    }
    return members;
  }

  #slice(row: number, startColumn: number, endColumn: number): Buffer {
    const rowStart = row * wordsPerMember;
    return this.#body.subarray(
      this.#members[rowStart + startColumn],
      this.#members[rowStart + endColumn],
    );
  }

  /**
   * Calls an export of the module. Returns false if the module trapped (threw a RuntimeError), as it does for
   * everything that it can't parse.
   */
  #callModule(call: () => unknown): boolean {
    try {
      call();
      return true;
    } catch (cause) {
      if (!(cause instanceof this.#trapError)) {
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
    const { memory, bodyAddress, marginBytes } = this.#module;
    const missingBytes = bodyAddress.value + size + marginBytes.value - memory.buffer.byteLength;
    if (missingBytes <= 0) {
      return true;
    }
    try {
      memory.grow(Math.ceil(missingBytes / pageBytes));
    } catch {
      return false; // Memory can't grow: the TypeScript indexer handles the body.
    }
    this.#refreshViews();
    return true;
  }

  /** When the module's memory grows, it gets a new ArrayBuffer and all views of the old one become empty. */
  #refreshViews(): void {
    const { memory, runsAddress, membersAddress } = this.#module;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#runs = new Int32Array(memory.buffer, runsAddress.value, rowLimits.runs * wordsPerRun);
    this.#members = new Int32Array(
      memory.buffer,
      membersAddress.value,
      rowLimits.members * wordsPerMember,
    );
  }
}
