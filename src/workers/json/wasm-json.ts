import { secondIso } from "./ascii.ts";
import { jsonModule } from "./json-module.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import type { TapeReader } from "./tape-reader.ts";

/** The longest part of a tape that is read there: its memory never gets smaller. */
const longestPart = 4_194_304;
const pageBytes = 65_536;
const wordBytes = 4;
/** Shared memory is copied in words of so many bytes where both sides begin alike within one, else byte by byte. */
const copiedBytes = 8;

/** What the module has (wasm/run.ts). Addresses are of its memory. */
interface Module {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly headsAt: { readonly value: number };
  readonly runtimeAt: { readonly value: number };
  readonly tapeAt: { readonly value: number };
  readonly mostRecords: { readonly value: number };
  readonly mostRuntime: { readonly value: number };
  readonly marginBytes: { readonly value: number };
  begin(runtimeBytes: number): void;
  run(records: number, isPost: boolean, isNext: boolean): void;
  valueAt(at: number): void;
  flushed(): void;
}

/** The part of the interface of WebAssembly that is used. */
interface Engine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
}

/** What has a place on a tape. */
type Recorded = Pick<RunOperation, "records">;

/**
 * Writes runs and values as JSON by a module of WebAssembly: the same bytes as `run-list` and
 * {@link JsonWriter} write, in less than half the time. It has a memory of its own, into which the part of
 * a tape is copied that is to be written, and out of which the JSON goes in pieces.
 */
export class WasmJson {
  readonly #module: Module;
  readonly #tapeAt: number;
  readonly #firstHead: number;
  readonly #mostRecords: number;
  readonly #runtimeBytes: number;
  #bytes: Uint8Array = new Uint8Array();
  #words: Uint32Array = new Uint32Array();
  /** Between {@link begin} and {@link end}. */
  #out: JsonWriter | undefined;
  #reader: TapeReader | undefined;
  /** What is to be added to a place on the tape for its address. */
  #shift = 0;

  /** `undefined` where the process has no WebAssembly, or no memory for it. */
  static create(runtime: Uint8Array): WasmJson | undefined {
    try {
      return new WasmJson(runtime);
    } catch {
      // The TypeScript writer is used instead; only time is lost.
      return undefined;
    }
  }

  private constructor(runtime: Uint8Array) {
    const engine = Reflect.get(globalThis, "WebAssembly") as Engine;
    const instance = new engine.Instance(new engine.Module(Buffer.from(jsonModule, "base64")), {
      memory: { flush: (from: number, to: number) => this.#append(from, to) },
      value: {
        double: (value: number, at: number) => this.#double(value, at),
        binary: (at: number) => this.#binary(at),
        noValue: (at: number) => {
          throw new RangeError(`No value at byte ${at - this.#shift} of the tape`);
        },
      },
      run: { second: (seconds: number, at: number) => this.#second(seconds, at) },
    });
    this.#module = instance.exports as Module;
    const { runtimeAt, mostRuntime, tapeAt, headsAt, mostRecords } = this.#module;
    this.#tapeAt = tapeAt.value;
    this.#firstHead = headsAt.value / wordBytes;
    this.#mostRecords = mostRecords.value;
    if (runtime.length > mostRuntime.value) {
      throw new RangeError("The runtime facts are too long");
    }
    this.#refreshViews();
    this.#bytes.set(runtime, runtimeAt.value);
    this.#runtimeBytes = runtime.length;
  }

  /** Takes over what the runs of one request are written from; false where that is too much. */
  begin(out: JsonWriter, reader: TapeReader, runs: readonly Recorded[]): boolean {
    const { from, to } = reader.extent(runs);
    if (to - from > longestPart) {
      return false;
    }
    const at = this.#tapeAt + ((from - this.#tapeAt) & (copiedBytes - 1));
    try {
      this.#ensureCapacity(at + to - from + this.#module.marginBytes.value);
    } catch {
      // The memory can't grow. The TypeScript writer is used instead.
      return false;
    }
    this.#bytes.set(reader.bytes.subarray(from, to), at);
    this.#shift = at - from;
    this.#out = out;
    this.#reader = reader;
    this.#module.begin(this.#runtimeBytes);
    return true;
  }

  /** Whether it is to write values into this output. */
  writes(out: JsonWriter): boolean {
    return out === this.#out;
  }

  /** Whether it can write this run: one without attachments and marks. */
  takes({ records, attachments, withheld }: RunOperation): boolean {
    return (
      attachments === undefined &&
      withheld === undefined &&
      records.length <= this.#mostRecords &&
      this.#reader?.hasOthers === false
    );
  }

  /** Writes a run, behind a comma where it `isNext`. It may be in the output only after {@link flush}. */
  run({ records, operation }: RunOperation, isNext: boolean): void {
    for (let i = 0; i < records.length; i++) {
      this.#words[this.#firstHead + i] = (this.#reader?.head(records[i] ?? -1) ?? 0) + this.#shift;
    }
    this.#module.run(records.length, operation === "post", isNext);
  }

  /** Writes the tagged value at `at`; it is in the output at once. */
  value(at: number): void {
    this.#module.valueAt(at + this.#shift);
    this.#module.flushed();
  }

  /** Has all that was written in the output. */
  flush(): void {
    this.#module.flushed();
  }

  /** Leaves the output, also after a failure, and the tape. */
  end(): void {
    this.#out = undefined;
    this.#reader = undefined;
  }

  #append(from: number, to: number): void {
    this.#out?.append(this.#bytes.subarray(from, to));
  }

  #double(value: number, at: number): number {
    const text = String(value);
    for (let i = 0; i < text.length; i++) {
      this.#bytes[at + i] = text.charCodeAt(i);
    }
    return at + text.length;
  }

  #binary(at: number): number {
    const { bytes, view } = this.#reader ?? {};
    if (this.#out === undefined || bytes === undefined || view === undefined) {
      throw new RangeError("There is nothing to write to");
    }
    return this.#out.value(bytes, view, at - this.#shift) + this.#shift;
  }

  #second(seconds: number, at: number): void {
    const text = secondIso(seconds);
    this.#bytes.set(new Uint8Array(text.buffer, text.byteOffset, text.byteLength), at);
  }

  #ensureCapacity(size: number): void {
    const { memory } = this.#module;
    const missing = size - memory.buffer.byteLength;
    if (missing > 0) {
      memory.grow(Math.ceil(missing / pageBytes));
      this.#refreshViews();
    }
  }

  #refreshViews(): void {
    const { buffer } = this.#module.memory;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
  }
}
