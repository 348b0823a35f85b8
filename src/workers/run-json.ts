import { stampLength, stampToIso, uuidLength } from "../model/dotted-order.ts";
import type { PayloadField } from "../model/run.ts";
import { field } from "../model/tape-format.ts";
import type { JsonWriter } from "./json-writer.ts";
import { recordWith } from "./operations.ts";
import type { RunOperation } from "./operations.ts";
import type { TapeReader } from "./tape-reader.ts";

/** Envelope fields that are tagged values, and their keys on the wire. */
const envelopeValues: readonly (readonly [number, string])[] = [
  [field.name, ',"name":'],
  [field.runType, ',"run_type":'],
  [field.project, ',"session_name":'],
  [field.projectId, ',"session_id":'],
  [field.tags, ',"tags":'],
  [field.referenceExampleId, ',"reference_example_id":'],
];

const payloadValues: Readonly<Record<Exclude<PayloadField, "extra">, number>> = {
  inputs: field.inputs,
  outputs: field.outputs,
  events: field.events,
  error: field.error,
  serialized: field.serialized,
};

const extraCodes = [field.metadata, field.extra, field.extraWithRuntime];

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Writes the JSON of the runs of one tape. */
export class RunJson {
  readonly #reader: TapeReader;
  /** The runtime facts as JSON, the same in every run of the process. */
  readonly #runtime: Buffer;

  constructor(reader: TapeReader, runtime: Buffer) {
    this.#reader = reader;
    this.#runtime = runtime;
  }

  /** Everything but the payload fields, as an object that is not closed yet. */
  envelope(out: JsonWriter, run: RunOperation): void {
    out.ascii(`{"id":"${run.id}"`);
    this.#place(out, run);
    this.#times(out, run);
    for (const [code, key] of envelopeValues) {
      this.#keyed(out, run, code, key);
    }
    this.#others(out, run);
  }

  /** Whether the run has this payload field. */
  has(run: RunOperation, name: PayloadField): boolean {
    return name === "extra"
      ? this.#extraRecord(run) !== undefined
      : recordWith(this.#reader, run, payloadValues[name]) !== -1;
  }

  /** About the bytes of a payload field's JSON. */
  estimate(run: RunOperation, name: PayloadField): number {
    if (name === "extra") {
      const found = this.#extraRecord(run);
      const length = found === undefined ? 0 : this.#reader.length(found.record, found.code);
      return length + this.#runtime.length + 20;
    }
    const code = payloadValues[name];
    return this.#reader.length(recordWith(this.#reader, run, code), code);
  }

  /** The JSON of one payload field that {@link has} says is there. */
  payload(out: JsonWriter, run: RunOperation, name: PayloadField): void {
    if (name === "extra") {
      this.#extra(out, run);
    } else {
      this.#value(out, run, payloadValues[name]);
    }
  }

  /** Ids and dotted order, all read from the dotted order where there is one. */
  #place(out: JsonWriter, run: RunOperation): void {
    const reader = this.#reader;
    const record = recordWith(reader, run, field.dottedOrder);
    if (record === -1) {
      this.#keyed(out, run, field.parentRunId, ',"parent_run_id":');
      return;
    }
    const start = reader.start(record, field.dottedOrder);
    const end = start + reader.length(record, field.dottedOrder);
    out.ascii(',"trace_id":"');
    out.raw(reader.bytes, start + stampLength, start + stampLength + uuidLength);
    out.ascii('","dotted_order":"');
    out.raw(reader.bytes, start, end);
    out.byte(0x22);
    const parentEnd = end - stampLength - uuidLength - 1;
    if (parentEnd > start) {
      out.ascii(',"parent_run_id":"');
      out.raw(reader.bytes, parentEnd - uuidLength, parentEnd);
      out.byte(0x22);
    }
  }

  #times(out: JsonWriter, run: RunOperation): void {
    const reader = this.#reader;
    const dotted = recordWith(reader, run, field.dottedOrder);
    if (recordWith(reader, run, field.startTime) !== -1) {
      this.#keyed(out, run, field.startTime, ',"start_time":');
    } else if (run.operation === "post" && dotted !== -1) {
      const end =
        reader.start(dotted, field.dottedOrder) + reader.length(dotted, field.dottedOrder);
      const from = end - uuidLength - stampLength;
      const stamp = reader.bytes.toString("latin1", from, from + stampLength);
      out.ascii(`,"start_time":"${stampToIso(stamp)}"`);
    }
    const ended = recordWith(reader, run, field.endMicros);
    if (ended === -1) {
      this.#keyed(out, run, field.endTime, ',"end_time":');
    } else {
      out.ascii(',"end_time":');
      out.isoMicros(reader.view.getFloat64(reader.start(ended, field.endMicros), true));
    }
  }

  /** Keys that the wire does not name; of one that several records have, the latest. */
  #others(out: JsonWriter, run: RunOperation): void {
    const { bytes, view } = this.#reader;
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
    const found = this.#extraRecord(run);
    if (found === undefined) {
      return;
    }
    const { bytes, view } = this.#reader;
    const at = this.#reader.start(found.record, found.code);
    if (found.code === field.metadata) {
      out.ascii('{"metadata":');
      out.value(bytes, view, at);
      out.byte(closeBrace);
    } else {
      out.value(bytes, view, at);
    }
    if (found.code !== field.extraWithRuntime && out.bytes[out.length - 1] === closeBrace) {
      this.#addRuntime(out);
    }
  }

  /** Puts the runtime facts into the object that was just written. */
  #addRuntime(out: JsonWriter): void {
    out.length -= 1;
    const empty = out.bytes[out.length - 1] === openBrace;
    out.ascii(empty ? '"runtime":' : ',"runtime":');
    out.raw(this.#runtime, 0, this.#runtime.length);
    out.byte(closeBrace);
  }

  #extraRecord(run: RunOperation): { record: number; code: number } | undefined {
    for (const record of run.records) {
      for (const code of extraCodes) {
        if (this.#reader.start(record, code) !== 0) {
          return { record, code };
        }
      }
    }
    return undefined;
  }

  #keyed(out: JsonWriter, run: RunOperation, code: number, key: string): void {
    const record = recordWith(this.#reader, run, code);
    if (record !== -1) {
      out.ascii(key);
      out.value(this.#reader.bytes, this.#reader.view, this.#reader.start(record, code));
    }
  }

  #value(out: JsonWriter, run: RunOperation, code: number): void {
    const record = recordWith(this.#reader, run, code);
    out.value(this.#reader.bytes, this.#reader.view, this.#reader.start(record, code));
  }
}
