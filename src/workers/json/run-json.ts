import { stampLength, uuidLength } from "../../model/dotted-order.ts";
import { payloadFields } from "../../model/run.ts";
import type { PayloadField } from "../../model/run.ts";
import { field, tag } from "../../model/records/tape-format.ts";
import { literal, viewOf } from "./ascii.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import { payloadValues } from "./payload-position.ts";
import { fieldNumbers } from "./tape-reader.ts";
import type { TapeReader } from "./tape-reader.ts";
import type { WasmJson } from "./wasm-json.ts";
import fastJson from "fast-json-stringify";
import type { RuntimeFacts } from "../../model/records/shipping.ts";

/** Envelope fields that are tagged values, and their keys on the wire. */
const envelopeValues: readonly (readonly [number, DataView])[] = [
  [field.name, literal(',"name":')],
  [field.runType, literal(',"run_type":')],
  [field.project, literal(',"session_name":')],
  [field.projectId, literal(',"session_id":')],
  [field.tags, literal(',"tags":')],
  [field.referenceExampleId, literal(',"reference_example_id":')],
];

const keys = {
  id: literal('{"id":"'),
  parentRunId: literal(',"parent_run_id":'),
  traceId: literal('","trace_id":"'),
  dottedOrder: literal('","dotted_order":"'),
  quotedParent: literal('","parent_run_id":"'),
  startTime: literal(',"start_time":'),
  endTime: literal(',"end_time":'),
  metadata: literal('{"metadata":'),
  firstRuntime: literal('"runtime":'),
  nextRuntime: literal(',"runtime":'),
};

/** Payloads of up to this size are never replaced by a marker: they do not make a run too large. */
const maxPayloadToKeep = 1_024;

const extraCodes = [field.metadata, field.extra, field.extraWithRuntime];

const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;

export interface RunJsonOptions {
  /**
   * Binary data in values of at least this many bytes becomes an attachment instead of base64.
   * @defaultValue never
   */
  readonly attachBytesFrom?: number | undefined;
  /** Writes the values in WebAssembly, if available. */
  readonly wasm?: WasmJson | undefined;
}

/** Writes the JSON of the runs of one tape. */
export class RunJson {
  readonly attachBytesFrom: number;
  readonly wasm: WasmJson | undefined;
  readonly #reader: TapeReader;
  /** The runtime facts as JSON. They are the same in every run of the process. */
  readonly #runtime: DataView;
  /**
   * The fields of the last run that was requested, joined from its records: for each field code its
   * offset and its length.
   */
  #indexedRun: RunOperation | undefined;
  readonly #fields = new Uint32Array(fieldNumbers);
  #extraCode = 0;

  constructor(reader: TapeReader, runtime: Buffer, options: RunJsonOptions = {}) {
    this.attachBytesFrom = options.attachBytesFrom ?? Number.POSITIVE_INFINITY;
    this.wasm = options.wasm;
    this.#reader = reader;
    this.#runtime = viewOf(runtime);
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
  envelope(out: JsonWriter, run: RunOperation): void {
    out.literal(keys.id);
    this.id(out, run);
    this.#writePosition(out, run);
    this.#writeTimes(out, run);
    for (const [code, key] of envelopeValues) {
      this.#writeKeyed(out, run, code, key);
    }
    this.#writeOthers(out, run);
  }

  /** The run's id, without quotes. */
  id(out: JsonWriter, run: RunOperation): void {
    const [record = -1] = run.records;
    const at = this.#reader.idStart(record);
    out.raw(this.#reader.view, at, at + uuidLength);
  }

  /** Whether the run has this payload field. */
  has(run: RunOperation, name: PayloadField): boolean {
    return this.#start(run, this.#fieldCodeOf(run, name)) !== 0;
  }

  /** Approximate number of bytes of a payload field's JSON. */
  estimate(run: RunOperation, name: PayloadField): number {
    const length = this.#length(run, this.#fieldCodeOf(run, name));
    return name === "extra" ? length + this.#runtime.byteLength + 20 : length;
  }

  /**
   * The largest payload field that has not been replaced by a marker yet and is large enough for
   * it.
   */
  findLargestPayload(run: RunOperation): PayloadField | undefined {
    let largest: PayloadField | undefined;
    let most = maxPayloadToKeep;
    for (const name of payloadFields) {
      const isThere = this.has(run, name) && run.withheld?.includes(name) !== true;
      const size = isThere ? this.estimate(run, name) : 0;
      if (size > most) {
        largest = name;
        most = size;
      }
    }
    return largest;
  }

  /** Writes the JSON of a payload field. Call it only if {@link has} returns true for the field. */
  payload(out: JsonWriter, run: RunOperation, name: PayloadField): void {
    if (run.withheld?.includes(name) === true) {
      out.ascii(createMarkerJson(name, this.estimate(run, name)));
    } else if (name === "extra") {
      this.#writeExtra(out, run);
    } else {
      this.#writeValue(out, run, payloadValues[name]);
    }
  }

  /**
   * Writes the ids and the dotted order. If there is a dotted order, all ids are read from it. Also
   * writes the closing quote of the run's id.
   */
  #writePosition(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const start = this.#start(run, field.dottedOrder);
    if (start === 0) {
      out.byte(quote);
      this.#writeKeyed(out, run, field.parentRunId, keys.parentRunId);
      return;
    }
    const end = start + this.#length(run, field.dottedOrder);
    out.literal(keys.traceId);
    out.raw(view, start + stampLength, start + stampLength + uuidLength);
    out.literal(keys.dottedOrder);
    out.raw(view, start, end);
    const parentEnd = end - stampLength - uuidLength - 1;
    if (parentEnd > start) {
      out.literal(keys.quotedParent);
      out.raw(view, parentEnd - uuidLength, parentEnd);
    }
    out.byte(quote);
  }

  #writeTimes(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const dotted = this.#start(run, field.dottedOrder);
    if (this.#start(run, field.startTime) !== 0) {
      this.#writeKeyed(out, run, field.startTime, keys.startTime);
    } else if (run.operation === "post" && dotted !== 0) {
      out.literal(keys.startTime);
      const end = dotted + this.#length(run, field.dottedOrder);
      writeIsoTimestamp(out, view, end - uuidLength - stampLength);
    }
    const ended = this.#start(run, field.endMicros);
    if (ended === 0) {
      this.#writeKeyed(out, run, field.endTime, keys.endTime);
    } else {
      out.literal(keys.endTime);
      out.isoMicros(view.getFloat64(ended, true));
    }
  }

  /**
   * Writes the keys that the wire format does not define. If several records have the same key, the
   * latest one is used.
   */
  #writeOthers(out: JsonWriter, run: RunOperation): void {
    const { bytes, view, hasOthers } = this.#reader;
    if (!hasOthers) {
      return;
    }
    const seen = new Set<string>();
    for (const record of run.records) {
      for (const start of this.#reader.others(record)) {
        const before = out.length;
        out.byte(0x2c);
        const valueAt = out.value(bytes, view, start);
        const key = out.bytes.toString("utf8", before + 1, out.length);
        if (seen.has(key)) {
          out.length = before;
          continue;
        }
        seen.add(key);
        out.byte(0x3a);
        out.value(bytes, view, valueAt);
      }
    }
  }

  #writeExtra(out: JsonWriter, run: RunOperation): void {
    const { bytes, view } = this.#reader;
    const code = this.#fieldCodeOf(run, "extra");
    const at = this.#start(run, code);
    if (at === 0) {
      return;
    }
    if (code === field.metadata) {
      out.literal(keys.metadata);
      out.value(bytes, view, at);
      out.byte(closeBrace);
    } else {
      out.value(bytes, view, at);
    }
    if (code === field.metadata || (code === field.extra && bytes[at] === tag.object)) {
      this.#addRuntime(out);
    }
  }

  /** Adds the runtime facts to the object that was just written. */
  #addRuntime(out: JsonWriter): void {
    out.length -= 1;
    const empty = out.bytes[out.length - 1] === openBrace;
    out.literal(empty ? keys.firstRuntime : keys.nextRuntime);
    out.literal(this.#runtime);
    out.byte(closeBrace);
  }

  /** The field code of a payload field of the run. */
  #fieldCodeOf(run: RunOperation, name: PayloadField): number {
    if (name !== "extra") {
      return payloadValues[name];
    }
    this.#indexFields(run);
    return this.#extraCode;
  }

  /** Offset of a field's content in the latest record that has the field; 0 if no record has it. */
  #start(run: RunOperation, code: number): number {
    this.#indexFields(run);
    return this.#fields[2 * code] ?? 0;
  }

  #length(run: RunOperation, code: number): number {
    this.#indexFields(run);
    return this.#fields[2 * code + 1] ?? 0;
  }

  /** Finds all fields of a run's records at once, because each is needed more than once. */
  #indexFields(run: RunOperation): void {
    if (run === this.#indexedRun) {
      return;
    }
    this.#indexedRun = run;
    this.#fields.fill(0);
    this.#extraCode = 0;
    const { records } = run;
    for (let i = records.length - 1; i >= 0; i--) {
      const record = records[i] ?? -1;
      this.#reader.addFields(record, this.#fields);
      const extra = extraCodes.find((code) => this.#reader.start(record, code) !== 0);
      this.#extraCode = extra ?? this.#extraCode;
    }
  }

  // oxlint-disable-next-line max-params -- called for each field of each run; an object would create garbage
  #writeKeyed(out: JsonWriter, run: RunOperation, code: number, key: DataView): void {
    const at = this.#start(run, code);
    if (at !== 0) {
      out.literal(key);
      out.value(this.#reader.bytes, this.#reader.view, at);
    }
  }

  #writeValue(out: JsonWriter, run: RunOperation, code: number): void {
    const at = this.#start(run, code);
    if (this.wasm?.isWritingTo(out) === true) {
      this.wasm.value(at);
    } else {
      out.value(this.#reader.bytes, this.#reader.view, at);
    }
  }
}

const dash = 0x2d;
const dot = 0x2e;
const colon = 0x3a;

/** Appends the timestamp at `at`, such as `20261121T101112345678Z`, as quoted ISO 8601. */
function writeIsoTimestamp(out: JsonWriter, source: DataView, at: number): void {
  out.byte(quote);
  out.raw(source, at, at + 4);
  out.byte(dash);
  out.raw(source, at + 4, at + 6);
  out.byte(dash);
  // The day and the letter T.
  out.raw(source, at + 6, at + 11);
  out.byte(colon);
  out.raw(source, at + 11, at + 13);
  out.byte(colon);
  out.raw(source, at + 13, at + 15);
  out.byte(dot);
  out.raw(source, at + 15, at + stampLength);
  out.byte(quote);
}

/**
 * The marker that replaces a payload which the server would not accept, as JSON of the type that
 * the wire format requires.
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

const text = { type: "string" } as const;

/**
 * Serializes the runtime facts, the only object of a run with a fixed schema: exactly these keys,
 * each a string. It is created once in a worker and copied into each run. Free-form fields are
 * never written this way.
 */
export const stringifyRuntime: (facts: RuntimeFacts) => string = fastJson({
  type: "object",
  additionalProperties: false,
  required: ["sdk", "sdk_version", "runtime", "runtime_version", "platform"],
  properties: {
    sdk: text,
    sdk_version: text,
    runtime: text,
    runtime_version: text,
    platform: text,
  },
});
