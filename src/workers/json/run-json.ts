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

/** Payloads up to this size are no reason why a run is too large. */
const withheldFrom = 1_024;

const extraCodes = [field.metadata, field.extra, field.extraWithRuntime];

const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;

export interface RunJsonOptions {
  /** From what size on binary data in values is not base64 but an attachment. @defaultValue never */
  readonly attachBytesFrom?: number | undefined;
  /** Writes what it can. */
  readonly wasm?: WasmJson | undefined;
}

/** Writes the JSON of the runs of one tape. */
export class RunJson {
  readonly attachBytesFrom: number;
  readonly wasm: WasmJson | undefined;
  readonly #reader: TapeReader;
  /** The runtime facts as JSON, the same in every run of the process. */
  readonly #runtime: DataView;
  /** The run that was asked for last, and of its records joined: where each field is, and its bytes. */
  #joined: RunOperation | undefined;
  readonly #fields = new Uint32Array(fieldNumbers);
  #extraCode = 0;

  constructor(reader: TapeReader, runtime: Buffer, options: RunJsonOptions = {}) {
    this.attachBytesFrom = options.attachBytesFrom ?? Number.POSITIVE_INFINITY;
    this.wasm = options.wasm;
    this.#reader = reader;
    this.#runtime = viewOf(runtime);
  }

  /** The tape that they are on. */
  get reader(): TapeReader {
    return this.#reader;
  }

  /** Writes a run while its records are marked, so that after a crash of this thread the run it was writing is known. */
  inHand(run: RunOperation, write: () => void): void {
    try {
      this.#reader.take(run.records);
      write();
    } finally {
      this.#reader.putBack(run.records);
    }
  }

  /** Everything but the payload fields, as an object that is not closed yet. */
  envelope(out: JsonWriter, run: RunOperation): void {
    out.literal(keys.id);
    this.id(out, run);
    this.#position(out, run);
    this.#times(out, run);
    for (const [code, key] of envelopeValues) {
      this.#keyed(out, run, code, key);
    }
    this.#others(out, run);
  }

  /** The run's id, bare. */
  id(out: JsonWriter, run: RunOperation): void {
    const [record = -1] = run.records;
    const at = this.#reader.idStart(record);
    out.raw(this.#reader.view, at, at + uuidLength);
  }

  /** Whether the run has this payload field. */
  has(run: RunOperation, name: PayloadField): boolean {
    return this.#start(run, this.#codeOf(run, name)) !== 0;
  }

  /** About the bytes of a payload field's JSON. */
  estimate(run: RunOperation, name: PayloadField): number {
    const length = this.#length(run, this.#codeOf(run, name));
    return name === "extra" ? length + this.#runtime.byteLength + 20 : length;
  }

  /** The largest payload field that is worth leaving out and not left out yet. */
  largestPayload(run: RunOperation): PayloadField | undefined {
    let largest: PayloadField | undefined;
    let most = withheldFrom;
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

  /** The JSON of one payload field. Only for fields for which {@link has} is true. */
  payload(out: JsonWriter, run: RunOperation, name: PayloadField): void {
    if (run.withheld?.includes(name) === true) {
      out.ascii(withheldJson(name, this.estimate(run, name)));
    } else if (name === "extra") {
      this.#extra(out, run);
    } else {
      this.#value(out, run, payloadValues[name]);
    }
  }

  /** Ids and dotted order, all read from the dotted order where there is one; closes the id's quote. */
  #position(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const start = this.#start(run, field.dottedOrder);
    if (start === 0) {
      out.byte(quote);
      this.#keyed(out, run, field.parentRunId, keys.parentRunId);
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

  #times(out: JsonWriter, run: RunOperation): void {
    const { view } = this.#reader;
    const dotted = this.#start(run, field.dottedOrder);
    if (this.#start(run, field.startTime) !== 0) {
      this.#keyed(out, run, field.startTime, keys.startTime);
    } else if (run.operation === "post" && dotted !== 0) {
      out.literal(keys.startTime);
      const end = dotted + this.#length(run, field.dottedOrder);
      isoStamp(out, view, end - uuidLength - stampLength);
    }
    const ended = this.#start(run, field.endMicros);
    if (ended === 0) {
      this.#keyed(out, run, field.endTime, keys.endTime);
    } else {
      out.literal(keys.endTime);
      out.isoMicros(view.getFloat64(ended, true));
    }
  }

  /** Keys that the wire does not name; of one that several records have, the latest. */
  #others(out: JsonWriter, run: RunOperation): void {
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

  #extra(out: JsonWriter, run: RunOperation): void {
    const { bytes, view } = this.#reader;
    const code = this.#codeOf(run, "extra");
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

  /** Puts the runtime facts into the object that was just written. */
  #addRuntime(out: JsonWriter): void {
    out.length -= 1;
    const empty = out.bytes[out.length - 1] === openBrace;
    out.literal(empty ? keys.firstRuntime : keys.nextRuntime);
    out.literal(this.#runtime);
    out.byte(closeBrace);
  }

  /** Under which code the run has a payload field. */
  #codeOf(run: RunOperation, name: PayloadField): number {
    if (name !== "extra") {
      return payloadValues[name];
    }
    this.#join(run);
    return this.#extraCode;
  }

  /** Where a field's content begins, of the latest record that has it; 0 where none has. */
  #start(run: RunOperation, code: number): number {
    this.#join(run);
    return this.#fields[2 * code] ?? 0;
  }

  #length(run: RunOperation, code: number): number {
    this.#join(run);
    return this.#fields[2 * code + 1] ?? 0;
  }

  /** Looks up all fields of a run's records at once: each is needed more than once. */
  #join(run: RunOperation): void {
    if (run === this.#joined) {
      return;
    }
    this.#joined = run;
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

  // oxlint-disable-next-line max-params -- called for each field of each run; an object would be garbage
  #keyed(out: JsonWriter, run: RunOperation, code: number, key: DataView): void {
    const at = this.#start(run, code);
    if (at !== 0) {
      out.literal(key);
      out.value(this.#reader.bytes, this.#reader.view, at);
    }
  }

  #value(out: JsonWriter, run: RunOperation, code: number): void {
    const at = this.#start(run, code);
    if (this.wasm?.writes(out) === true) {
      this.wasm.value(at);
    } else {
      out.value(this.#reader.bytes, this.#reader.view, at);
    }
  }
}

const dash = 0x2d;
const dot = 0x2e;
const colon = 0x3a;

/** Appends the stamp at `at`, `20261121T101112345678Z`, as quoted ISO 8601. */
function isoStamp(out: JsonWriter, source: DataView, at: number): void {
  out.byte(quote);
  out.raw(source, at, at + 4);
  out.byte(dash);
  out.raw(source, at + 4, at + 6);
  out.byte(dash);
  // The day and the T.
  out.raw(source, at + 6, at + 11);
  out.byte(colon);
  out.raw(source, at + 11, at + 13);
  out.byte(colon);
  out.raw(source, at + 13, at + 15);
  out.byte(dot);
  out.raw(source, at + 15, at + stampLength);
  out.byte(quote);
}

/** The placeholder for a payload that the server would not accept, of the type that the wire requires. */
function withheldJson(name: PayloadField, bytes: number): string {
  const why = `"${bytes} bytes, with which the run is more than the server takes"`;
  switch (name) {
    case "error":
      return `"[truncated: ${why.slice(1, -1)}]"`;
    case "events":
      return `[{"name":"[truncated]","reason":${why}}]`;
    default:
      return `{"[truncated]":${why}}`;
  }
}

const text = { type: "string" } as const;

/**
 * The one object of a run whose schema is the contract: exactly these keys, each a text.
 * Made once in a worker and copied into each run; free-form fields never pass through here.
 */
export const runtimeJson: (facts: RuntimeFacts) => string = fastJson({
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
