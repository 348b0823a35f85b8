import { formatSecond } from "./ascii.ts";
import { jsonModule } from "./json-module.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import type { TapeReader } from "./tape-reader.ts";

/**
 * Maximum number of bytes of recorded runs that are copied into the module's memory, which never shrinks.
 */
const maxTapeBytes = 4_194_304;
const pageBytes = 65_536;
const wordBytes = 4;
/**
 * Copying from shared memory uses words of this many bytes if source and target have the same
 * alignment, else single bytes.
 */
const copyAlignment = 8;

/**
 * The exports of the WebAssembly module (wasm/run.ts). A tape is a buffer of records; the records of one traced run are
 * written as one JSON object. In the module's memory, `tapeAt` is the address of the tape, `headsAt` the address of a
 * list with the addresses of the records to write, and `runtimeAt` the address of the JSON text about SDK and runtime,
 * which each run contains. There is space for at most `mostRecords` addresses and `mostRuntime` bytes of that text. The
 * memory must extend `marginBytes` beyond the tape. `run` writes the JSON of a run to the module's output, `valueAt`
 * writes the JSON of one value to it, and `flushed` copies the output out of the module.
 */
interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly headsAt: { readonly value: number };
  readonly runtimeAt: { readonly value: number };
  readonly tapeAt: { readonly value: number };
  readonly mostRecords: { readonly value: number };
  readonly mostRuntime: { readonly value: number };
  readonly marginBytes: { readonly value: number };
  begin(runtimeBytes: number): void;
  run(records: number, isPost: boolean, isNext: boolean): void;
  valueAt(address: number): void;
  flushed(): void;
}

/** The part of the WebAssembly API that is used here. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
}

/** An object that lists records of a tape. */
type HasRecords = Pick<RunOperation, "records">;

/**
 * Writes runs and values as JSON in WebAssembly. It produces the same bytes as `run-list.ts` and
 * {@link JsonWriter}, in less than half the time. The part of the tape (the buffer in which the main
 * thread records runs) to be written is copied into the module's own memory, and the JSON is copied
 * out of it in chunks.
 */
export class WasmJson {
  readonly #exports: WasmExports;
  readonly #tapeAddress: number;
  readonly #firstHeadIndex: number;
  readonly #mostRecords: number;
  readonly #runtimeBytes: number;
  /** Views of the module's memory. When the memory grows, they must be replaced. */
  #bytes: Uint8Array = new Uint8Array();
  #words: Uint32Array = new Uint32Array();
  /** Where the JSON is written to; set between {@link begin} and {@link end}. */
  #out: JsonWriter | undefined;
  #reader: TapeReader | undefined;
  /** Difference between an address in the module's memory and the offset of the same byte on the tape. */
  #addressShift = 0;

  /** Returns `undefined` if the process has no WebAssembly, or too little memory for it. */
  static create(runtimeJson: Uint8Array): WasmJson | undefined {
    try {
      return new WasmJson(runtimeJson);
    } catch {
      // The TypeScript writer is used instead. It is only slower.
      return undefined;
    }
  }

  private constructor(runtime: Uint8Array) {
    const api = Reflect.get(globalThis, "WebAssembly") as WebAssemblyApi;
    const instance = new api.Instance(new api.Module(Buffer.from(jsonModule, "base64")), {
      memory: { flush: (start: number, end: number) => this.#appendToOutput(start, end) },
      value: {
        binary: (address: number) => this.#writeBinary(address),
        noValue: (address: number) => {
          throw new RangeError(`No value at byte ${address - this.#addressShift} of the tape`);
        },
      },
      number: { fillPowers: (address: number) => this.#fillPowersOfTen(address) },
      run: { second: (seconds: number, address: number) => this.#writeSecond(seconds, address) },
    });
    this.#exports = instance.exports as WasmExports;
    const { runtimeAt, mostRuntime, tapeAt, headsAt, mostRecords } = this.#exports;
    this.#tapeAddress = tapeAt.value;
    this.#firstHeadIndex = headsAt.value / wordBytes;
    this.#mostRecords = mostRecords.value;
    if (runtime.length > mostRuntime.value) {
      throw new RangeError("The runtime facts are too long");
    }
    this.#refreshViews();
    this.#bytes.set(runtime, runtimeAt.value);
    this.#runtimeBytes = runtime.length;
  }

  /**
   * Copies the part of the tape that contains the runs of one request. Returns false if it is too
   * large or the memory can't grow.
   */
  begin(out: JsonWriter, reader: TapeReader, runs: readonly HasRecords[]): boolean {
    const { start, end } = reader.findExtent(runs);
    if (end - start > maxTapeBytes) {
      return false;
    }
    const address = this.#tapeAddress + ((start - this.#tapeAddress) & (copyAlignment - 1));
    try {
      this.#ensureCapacity(address + end - start + this.#exports.marginBytes.value);
    } catch {
      // The memory can't grow. The TypeScript writer is used instead.
      return false;
    }
    this.#bytes.set(reader.bytes.subarray(start, end), address);
    this.#addressShift = address - start;
    this.#out = out;
    this.#reader = reader;
    this.#exports.begin(this.#runtimeBytes);
    return true;
  }

  /** Whether `out` is the output of the current request, so that {@link writeValue} can write to it. */
  isWritingTo(out: JsonWriter): boolean {
    return out === this.#out;
  }

  /**
   * Whether this class can write the run: it has no attachments, no withheld fields, no keys outside the wire format,
   * and not too many records.
   */
  canWrite({ records, attachments, withheldFields }: RunOperation): boolean {
    return (
      attachments === undefined &&
      withheldFields === undefined &&
      records.length <= this.#mostRecords &&
      this.#reader?.hasUnknownFields === false
    );
  }

  /**
   * Writes a run, preceded by a comma if `needsComma`. A part of its JSON may stay in the module's memory until
   * {@link flush} is called.
   */
  writeRun({ records, operation }: RunOperation, needsComma: boolean): void {
    for (let i = 0; i < records.length; i++) {
      this.#words[this.#firstHeadIndex + i] =
        (this.#reader?.findHead(records[i] ?? -1) ?? 0) + this.#addressShift;
    }
    this.#exports.run(records.length, operation === "post", needsComma);
  }

  /** Writes the tagged value at `offset` of the tape. Its JSON is copied to the output immediately. */
  writeValue(offset: number): void {
    this.#exports.valueAt(offset + this.#addressShift);
    this.#exports.flushed();
  }

  /** Copies everything written so far to the output. */
  flush(): void {
    this.#exports.flushed();
  }

  /** Releases the output and the reader. Must also be called after a failure. */
  end(): void {
    this.#out = undefined;
    this.#reader = undefined;
  }

  #appendToOutput(start: number, end: number): void {
    this.#out?.writeBytes(this.#bytes.subarray(start, end));
  }

  /** Fills the table that the module needs to format numbers with decimals. The module requests it once. */
  #fillPowersOfTen(address: number): void {
    const table = new DataView(this.#exports.memory.buffer, address);
    for (let exponent = lowestPower; exponent <= highestPower; exponent++) {
      const power = scalePowerOfTen(exponent);
      const offset = 16 * (exponent - lowestPower);
      table.setBigUint64(offset, BigInt.asUintN(64, power), true);
      table.setBigUint64(offset + 8, power >> 64n, true);
    }
  }

  #writeBinary(address: number): number {
    const { bytes, view } = this.#reader ?? {};
    if (this.#out === undefined || bytes === undefined || view === undefined) {
      throw new RangeError("No output to write to: call begin first");
    }
    return this.#out.writeValue(bytes, view, address - this.#addressShift) + this.#addressShift;
  }

  #writeSecond(seconds: number, address: number): void {
    const text = formatSecond(seconds);
    this.#bytes.set(new Uint8Array(text.buffer, text.byteOffset, text.byteLength), address);
  }

  #ensureCapacity(size: number): void {
    const { memory } = this.#exports;
    const missing = size - memory.buffer.byteLength;
    if (missing > 0) {
      memory.grow(Math.ceil(missing / pageBytes));
      this.#refreshViews();
    }
  }

  #refreshViews(): void {
    const { buffer } = this.#exports.memory;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
  }
}

/** The lowest and the highest exponent in the table of powers of ten. */
const [lowestPower, highestPower] = [-292, 324];

/** Returns ten to the power of `exponent`, times the power of two that makes it an integer of 128 bits, rounded up. */
function scalePowerOfTen(exponent: number): bigint {
  // The binary logarithm of the power, rounded down.
  const log2 = BigInt((exponent * 1_741_647) >> 19);
  const power = 10n ** BigInt(Math.abs(exponent));
  const [numerator, denominator] = exponent < 0 ? [1n, power] : [power, 1n];
  const shift = 127n - log2;
  const scaled = shift < 0n ? numerator : numerator << shift;
  const divisor = shift < 0n ? denominator << -shift : denominator;
  return (scaled + divisor - 1n) / divisor;
}
