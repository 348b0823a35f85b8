import { stampLength, uuidLength } from "../../model/dotted-order.ts";
import { payloadFields } from "../../model/run.ts";
import type { PayloadField } from "../../model/run.ts";
import { field, tag } from "../../model/records/tape-format.ts";
import { toView, createView } from "./ascii.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import { payloadValues } from "./payload-position.ts";
import { numbersPerFieldIndex } from "./tape-reader.ts";
import type { TapeReader } from "./tape-reader.ts";
import { readText } from "./tape-text.ts";
import type { WasmJson } from "./wasm-json.ts";

/**
 * Fields other than payloads that are encoded as tagged values (which begin with a byte that states their type), each
 * with its key in the JSON of a run.
 */
const envelopeValues: readonly (readonly [number, DataView])[] = [
  [field.name, toView(',"name":')],
  [field.runType, toView(',"run_type":')],
  [field.project, toView(',"session_name":')],
  [field.projectId, toView(',"session_id":')],
  [field.tags, toView(',"tags":')],
  [field.referenceExampleId, toView(',"reference_example_id":')],
];

const keyLiterals = {
  id: toView('{"id":"'),
  parentRunId: toView(',"parent_run_id":'),
  traceId: toView('","trace_id":"'),
  dottedOrder: toView('","dotted_order":"'),
  quotedParent: toView('","parent_run_id":"'),
  startTime: toView(',"start_time":'),
  endTime: toView(',"end_time":'),
  metadata: toView('{"metadata":'),
  firstRuntime: toView('"runtime":'),
  nextRuntime: toView(',"runtime":'),
};

/** Payloads of up to this many bytes are never replaced by a marker, because they do not make a run too large. */
const maxKeptPayloadBytes = 1_024;

const extraCodes = [field.metadata, field.extra, field.extraWithRuntime];

const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;

/** Options of {@link RunJson}. */
export interface RunJsonOptions {
  /**
   * Binary data of at least this many bytes inside a value becomes an attachment instead of base64.
   * @defaultValue never
   */
  readonly attachBytesFrom?: number | undefined;
  /** Writes the values in WebAssembly, if available. */
  readonly wasm?: WasmJson | undefined;
}

/** Writes the JSON of the runs on one tape, which is a buffer of records. */
export class RunJson {
  readonly attachBytesFrom: number;
  readonly wasm: WasmJson | undefined;
  readonly #reader: TapeReader;
  /** Name and version of the SDK and of the runtime as JSON, which is the same in every run of the process. */
  readonly #runtimeJson: DataView;
  /**
   * The run whose fields were requested last. For each field code, `#fieldIndex` contains the offset and the length of
   * the field in the latest record of the run that has the field.
   */
  #indexedRun: RunOperation | undefined;
  readonly #fieldIndex = new Uint32Array(numbersPerFieldIndex);
  #extraCode = 0;

  constructor(reader: TapeReader, runtime: Buffer, options: RunJsonOptions = {}) {
    this.attachBytesFrom = options.attachBytesFrom ?? Number.POSITIVE_INFINITY;
    this.wasm = options.wasm;
    this.#reader = reader;
    this.#runtimeJson = createView(runtime);
  }

  /** The tape that the runs are read from. */
  get reader(): TapeReader {
    return this.#reader;
  }

  /**
   * Calls `write` while the run's records are marked as being written. If this thread crashes
   * meanwhile, the marks identify the run that it was writing.
   */
  markWhileWriting(run: RunOperation, write: () => void): void {
    try {
      this.#reader.markBeingWritten(run.records);
      write();
    } finally {
      this.#reader.clearBeingWritten(run.records);
    }
  }

  /** Writes all fields except the payload fields, as an object without its closing brace. */
  writeEnvelope(out: JsonWriter, run: RunOperation): void {
    out.writeLiteral(keyLiterals.id);
    this.writeId(out, run);
    this.#writePosition(out, run);
    this.#writeTimes(out, run);
    for (const [code, key] of envelopeValues) {
      this.#writeKeyed(out, run, code, key);
    }
    this.#writeUnknownFields(out, run);
  }

  /** Writes the run's id without quotes. */
  writeId(out: JsonWriter, run: RunOperation): void {
    const [record = -1] = run.records;
    const offset = this.#reader.findIdStart(record);
    out.writeRaw(this.#reader.view, offset, offset + uuidLength);
  }

  /** Returns the name of the run's project; `undefined` if the run names none. */
  readProject(run: RunOperation): string | undefined {
    const start = this.#findStart(run, field.project);
    const tagByte = this.#reader.bytes[start] ?? tag.null;
    const isText = tagByte >= tag.shortText || tagByte === tag.text || tagByte === tag.wideText;
    return start !== 0 && isText ? readText(this.#reader, start).text : undefined;
  }

  /**
   * Returns why the run can't be sent as a span, which needs a start, an end and a position in its trace; `undefined`
   * if it can be sent.
   */
  findSpanProblem(run: RunOperation): string | undefined {
    const { bytes } = this.#reader;
    const endTime = this.#findStart(run, field.endTime);
    const isEnded =
      this.#findStart(run, field.endMicros) !== 0 || (endTime !== 0 && bytes[endTime] !== tag.null);
    if (run.operation === "patch" || !isEnded) {
      return `the record of its ${isEnded ? "start" : "end"} is missing`;
    }
    const parent = this.#findStart(run, field.parentRunId);
    const hasParent = parent !== 0 && bytes[parent] !== tag.null;
    return hasParent && this.#findStart(run, field.dottedOrder) === 0
      ? "it has a parent, but no dotted_order"
      : undefined;
  }

  /** Whether the run has this payload field. */
  hasField(run: RunOperation, name: PayloadField): boolean {
    return this.#findStart(run, this.#findFieldCode(run, name)) !== 0;
  }

  /** Approximate number of bytes of a payload field's JSON. */
  estimateBytes(run: RunOperation, name: PayloadField): number {
    const length = this.#findLength(run, this.#findFieldCode(run, name));
    return name === "extra" ? length + this.#runtimeJson.byteLength + 20 : length;
  }

  /**
   * Finds the largest payload field that has not been replaced by a marker yet. Ignores fields that are too small to
   * make a run too large.
   */
  findLargestPayload(run: RunOperation): PayloadField | undefined {
    let largest: PayloadField | undefined;
    let largestBytes = maxKeptPayloadBytes;
    for (const name of payloadFields) {
      const isPresent = this.hasField(run, name) && run.withheldFields?.includes(name) !== true;
      const size = isPresent ? this.estimateBytes(run, name) : 0;
      if (size > largestBytes) {
        largest = name;
        largestBytes = size;
      }
    }
    return largest;
  }

  /** Writes the JSON of a payload field. Call it only if {@link hasField} returns true for the field. */
  writePayload(out: JsonWriter, run: RunOperation, name: PayloadField): void {
    if (run.withheldFields?.includes(name) === true) {
      out.writeAscii(createMarkerJson(name, this.estimateBytes(run, name)));
    } else if (name === "extra") {
      this.#writeExtra(out, run);
    } else {
      this.#writeValue(out, run, payloadValues[name]);
    }
  }

  /**
   * Writes the closing quote of the run's id, then the trace id, the dotted order and the parent's id. Both ids are
   * read from the dotted order. If there is none, only the parent's id is written, from its own field.
   */
  #writePosition(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const start = this.#findStart(run, field.dottedOrder);
    if (start === 0) {
      out.writeByte(quote);
      this.#writeKeyed(out, run, field.parentRunId, keyLiterals.parentRunId);
      return;
    }
    const end = start + this.#findLength(run, field.dottedOrder);
    out.writeLiteral(keyLiterals.traceId);
    out.writeRaw(view, start + stampLength, start + stampLength + uuidLength);
    out.writeLiteral(keyLiterals.dottedOrder);
    out.writeRaw(view, start, end);
    const parentEnd = end - stampLength - uuidLength - 1;
    if (parentEnd > start) {
      out.writeLiteral(keyLiterals.quotedParent);
      out.writeRaw(view, parentEnd - uuidLength, parentEnd);
    }
    out.writeByte(quote);
  }

  #writeTimes(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const dottedOrderStart = this.#findStart(run, field.dottedOrder);
    if (this.#findStart(run, field.startTime) !== 0) {
      this.#writeKeyed(out, run, field.startTime, keyLiterals.startTime);
    } else if (run.operation === "post" && dottedOrderStart !== 0) {
      out.writeLiteral(keyLiterals.startTime);
      const end = dottedOrderStart + this.#findLength(run, field.dottedOrder);
      writeIsoTimestamp(out, view, end - uuidLength - stampLength);
    }
    const endTimeOffset = this.#findStart(run, field.endMicros);
    if (endTimeOffset === 0) {
      this.#writeKeyed(out, run, field.endTime, keyLiterals.endTime);
    } else {
      out.writeLiteral(keyLiterals.endTime);
      out.writeIsoMicros(view.getFloat64(endTimeOffset, true));
    }
  }

  /**
   * Writes the fields whose keys the wire format does not define. If several records have the same key, the latest
   * record is used.
   */
  #writeUnknownFields(out: JsonWriter, run: RunOperation): void {
    const { bytes, view, hasUnknownFields } = this.#reader;
    if (!hasUnknownFields) {
      return;
    }
    const seen = new Set<string>();
    for (const record of run.records) {
      for (const start of this.#reader.listUnknownFields(record)) {
        const entryStart = out.length;
        out.writeByte(0x2c);
        const valueOffset = out.writeValue(bytes, view, start);
        const key = out.bytes.toString("utf8", entryStart + 1, out.length);
        if (seen.has(key)) {
          out.length = entryStart;
          continue;
        }
        seen.add(key);
        out.writeByte(0x3a);
        out.writeValue(bytes, view, valueOffset);
      }
    }
  }

  #writeExtra(out: JsonWriter, run: RunOperation): void {
    const { bytes, view } = this.#reader;
    const code = this.#findFieldCode(run, "extra");
    const offset = this.#findStart(run, code);
    if (offset === 0) {
      return;
    }
    if (code === field.metadata) {
      out.writeLiteral(keyLiterals.metadata);
      out.writeValue(bytes, view, offset);
      out.writeByte(closeBrace);
    } else {
      out.writeValue(bytes, view, offset);
    }
    if (code === field.metadata || (code === field.extra && bytes[offset] === tag.object)) {
      this.#addRuntime(out);
    }
  }

  /** Adds the key `runtime` to the object that was just written. */
  #addRuntime(out: JsonWriter): void {
    out.length -= 1;
    const isEmptyObject = out.bytes[out.length - 1] === openBrace;
    out.writeLiteral(isEmptyObject ? keyLiterals.firstRuntime : keyLiterals.nextRuntime);
    out.writeLiteral(this.#runtimeJson);
    out.writeByte(closeBrace);
  }

  /** Returns the field code that a payload field of the run has on the tape. */
  #findFieldCode(run: RunOperation, name: PayloadField): number {
    if (name !== "extra") {
      return payloadValues[name];
    }
    this.#indexFields(run);
    return this.#extraCode;
  }

  /** Returns the offset of a field's content in the latest record that has the field; 0 if no record has it. */
  #findStart(run: RunOperation, code: number): number {
    this.#indexFields(run);
    return this.#fieldIndex[2 * code] ?? 0;
  }

  #findLength(run: RunOperation, code: number): number {
    this.#indexFields(run);
    return this.#fieldIndex[2 * code + 1] ?? 0;
  }

  /** Finds all fields of a run's records at once, because each is needed more than once. */
  #indexFields(run: RunOperation): void {
    if (run === this.#indexedRun) {
      return;
    }
    this.#indexedRun = run;
    this.#fieldIndex.fill(0);
    this.#extraCode = 0;
    const { records } = run;
    for (let i = records.length - 1; i >= 0; i--) {
      const record = records[i] ?? -1;
      this.#reader.addFields(record, this.#fieldIndex);
      const extra = extraCodes.find((code) => this.#reader.findFieldStart(record, code) !== 0);
      this.#extraCode = extra ?? this.#extraCode;
    }
  }

  // oxlint-disable-next-line max-params -- called for each field of each run; an object would create garbage
  #writeKeyed(out: JsonWriter, run: RunOperation, code: number, key: DataView): void {
    const offset = this.#findStart(run, code);
    if (offset !== 0) {
      out.writeLiteral(key);
      out.writeValue(this.#reader.bytes, this.#reader.view, offset);
    }
  }

  #writeValue(out: JsonWriter, run: RunOperation, code: number): void {
    const offset = this.#findStart(run, code);
    if (this.wasm?.isWritingTo(out) === true) {
      this.wasm.writeValue(offset);
    } else {
      out.writeValue(this.#reader.bytes, this.#reader.view, offset);
    }
  }
}

const dash = 0x2d;
const dot = 0x2e;
const colon = 0x3a;

/** Appends the timestamp at `offset`, such as `20261121T101112345678Z`, as quoted ISO 8601. */
function writeIsoTimestamp(out: JsonWriter, source: DataView, offset: number): void {
  out.writeByte(quote);
  out.writeRaw(source, offset, offset + 4);
  out.writeByte(dash);
  out.writeRaw(source, offset + 4, offset + 6);
  out.writeByte(dash);
  // Copy the day and the letter T.
  out.writeRaw(source, offset + 6, offset + 11);
  out.writeByte(colon);
  out.writeRaw(source, offset + 11, offset + 13);
  out.writeByte(colon);
  out.writeRaw(source, offset + 13, offset + 15);
  out.writeByte(dot);
  out.writeRaw(source, offset + 15, offset + stampLength);
  out.writeByte(quote);
}

/**
 * Creates the JSON of the marker that replaces a payload which the server would not accept. The marker has the JSON
 * type that the wire format requires for the field.
 */
function createMarkerJson(name: PayloadField, bytes: number): string {
  const reason = `"${bytes} bytes, left out because the run exceeds the server's size limit"`;
  switch (name) {
    case "error":
      return `"[truncated: ${reason.slice(1, -1)}]"`;
    case "events":
      return `[{"name":"[truncated]","reason":${reason}}]`;
    default:
      return `{"[truncated]":${reason}}`;
  }
}
