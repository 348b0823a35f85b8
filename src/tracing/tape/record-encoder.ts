import { assertUuid } from "../../model/ids.ts";
import { parseDottedOrder } from "../../model/dotted-order.ts";
import { ValidationError } from "../../model/errors.ts";
import { field, tag } from "../../model/records/tape-format.ts";
import type { Operation } from "../../model/run.ts";
import { checkAttachments, writeAttachments } from "./attachment-writer.ts";
import type { AttachmentRules } from "./attachment-writer.ts";
import { filterExchange, rawExchanges, writeExchanges } from "./exchange-record.ts";
import type { ExchangeRules } from "./exchange-record.ts";
import type { PayloadFilters } from "./payload-filters.ts";
import { KeyCache } from "./string-cache.ts";
import type { CachedString } from "./string-cache.ts";
import type { ExchangeRecord, RecordedRun } from "./recorder.ts";
import type { TapeWriter } from "./tape-writer.ts";
import { ValueWriter } from "./value-writer.ts";

/** A run, or a part of one, that the caller passed in wire format. */
export interface WireRecord {
  readonly operation: Operation;
  readonly id: unknown;
  readonly run: unknown;
  /** The project of the run if the run itself names none. */
  readonly projectName: string;
}

/** Options of a {@link RecordEncoder}. */
export interface EncoderOptions {
  readonly filters: PayloadFilters;
  readonly attachments: AttachmentRules;
  /** @defaultValue workers read all exchanges */
  readonly exchanges?: ExchangeRules;
}

/** Encodes runs as records on a tape, which is a buffer. Each payload is traversed once, during the call. */
export class RecordEncoder {
  readonly writer: TapeWriter;
  readonly #valueWriter: ValueWriter;
  readonly #nameCache = new KeyCache();
  /** The name that was last written for each field code. The next run usually has the same name. */
  readonly #lastNames: (CachedString | undefined)[] = [];
  readonly #filters: PayloadFilters;
  readonly #attachmentRules: AttachmentRules;
  readonly #exchangeRules: ExchangeRules;

  constructor(out: TapeWriter, { filters, attachments, exchanges = rawExchanges }: EncoderOptions) {
    this.writer = out;
    this.#exchangeRules = exchanges;
    this.#attachmentRules = attachments;
    this.#valueWriter = new ValueWriter(out);
    this.#filters = filters;
  }

  /** Encodes the record of a run's start. */
  encodeStart(run: RecordedRun): void {
    this.writer.beginRecord("post");
    this.#writeIdentity(run);
    this.#writeName(field.name, run.name);
    this.#writeName(field.runType, run.runType);
    this.#writeValue(field.inputs, this.#filters.filterInputs(run.inputs));
    this.#writeDetails(run);
    this.#writeOptional(field.serialized, run.serialized);
    this.#writeOptional(field.referenceExampleId, run.referenceExampleId);
    this.#writeAttachments(run.attachments);
  }

  /** Encodes the record of a run's end. */
  encodeEnd(run: RecordedRun): void {
    this.writer.beginRecord("patch");
    this.#writeIdentity(run);
    if (run.endMicros !== undefined) {
      this.writer.writeDoubleField(field.endMicros, run.endMicros);
    }
    if (run.outputs !== undefined) {
      this.#writeValue(field.outputs, this.#filters.filterOutputs(run.outputs));
    }
    this.#writeOptional(field.error, run.error);
    this.#writeOptional(field.events, run.events);
    if (run.detailsChanged) {
      this.#writeDetails(run);
    }
    this.#writeAttachments(run.attachments);
  }

  /** Encodes the start or the end of a run that consists of a call of a remote API. */
  encodeExchange(record: ExchangeRecord): void {
    const { operation, run, endMicros } = record;
    // A function of the caller may run here, so this comes before anything is written.
    const parts = filterExchange(record, this.#filters, this.#exchangeRules);
    this.writer.beginRecord(operation);
    this.#writeIdentity(run);
    this.#writeOptional(field.name, parts.name);
    this.#writeOptional(field.runType, parts.runType);
    if (endMicros !== undefined) {
      this.writer.writeDoubleField(field.endMicros, endMicros);
    }
    this.#writeOptional(field.inputs, parts.inputs);
    this.#writeOptional(field.outputs, parts.outputs);
    this.#writeOptional(field.error, parts.error);
    this.#writeOptional(field.events, parts.events);
    this.#writeOptional(field.tags, parts.tags);
    if (parts.extra !== undefined) {
      this.#writeValue(field.extra, { ...parts.extra, metadata: parts.metadata ?? {} });
    } else if (record.keepsMetadata !== true) {
      this.#writeValue(field.metadata, parts.metadata ?? {});
    }
    if (operation === "post") {
      this.#writeOptional(field.referenceExampleId, run.referenceExampleId);
    }
    writeExchanges(this.writer, this.#valueWriter, parts.exchanges);
  }

  /**
   * Encodes the record of a run that is given in wire format.
   *
   * @throws {@link ValidationError} the id is not a UUID, the dotted order is malformed, or it contradicts the id or
   * the trace id.
   */
  encodeWire({ operation, id, run, projectName }: WireRecord): void {
    const fields = readFields(run);
    const { runId, dottedOrder } = readIdentity(id, fields);
    this.writer.beginRecord(operation);
    if (dottedOrder === undefined) {
      this.writer.writeAsciiField(field.id, runId);
    } else {
      this.writer.writeAsciiField(field.dottedOrder, dottedOrder);
    }
    // A patch that names no project does not change the run's project.
    if (operation === "post" && !("session_id" in fields) && !("session_name" in fields)) {
      this.#writeValue(field.project, fields["project_name"] ?? projectName);
    }
    for (const [key, value] of Object.entries(fields)) {
      if (!excludedKeys.has(key)) {
        this.#writeWireField(key, value);
      }
    }
    this.#writeAttachments(fields["attachments"]);
  }

  #writeWireField(key: string, value: unknown): void {
    const filters = this.#filters;
    switch (key) {
      case "inputs":
        this.#writeValue(field.inputs, filters.filterInputs(value));
        break;
      case "outputs":
        this.#writeValue(field.outputs, filters.filterOutputs(value));
        break;
      case "events":
        this.#writeValue(field.events, filters.filterEvents(value));
        break;
      case "extra":
        this.#writeValue(
          hasRuntime(value) ? field.extraWithRuntime : field.extra,
          filters.filterExtra(value),
        );
        break;
      default: {
        const code = fieldCodesByKey.get(key);
        if (code === undefined) {
          this.#writeUnknownField(key, value);
        } else {
          this.#writeValue(code, value);
        }
      }
    }
  }

  #writeIdentity(run: RecordedRun): void {
    this.writer.writeOrderField(field.dottedOrder, run);
    this.#writeName(field.project, run.projectName);
  }

  #writeDetails(run: RecordedRun): void {
    this.#writeOptional(field.tags, run.tags);
    const metadata = this.#filters.filterMetadata(run.metadata);
    // Write an empty object too: the worker creates `extra` from it and adds the runtime information.
    this.#writeValue(field.metadata, metadata ?? {});
  }

  #writeUnknownField(key: string, value: unknown): void {
    const fieldStart = this.writer.beginField(field.other);
    this.writer.writeText(key);
    this.#valueWriter.write(value);
    this.writer.endField(fieldStart);
  }

  /** Call this after all other fields, because {@link writeAttachments} reserves capacity only for the attachments. */
  #writeAttachments(attachments: unknown): void {
    if (attachments !== undefined) {
      writeAttachments(this.writer, checkAttachments(attachments, this.#attachmentRules));
    }
  }

  /** Writes a text that repeats in many runs, from the cache if possible. */
  #writeName(code: number, text: string): void {
    let cached = this.#lastNames[code];
    if (cached?.text !== text) {
      cached = this.#nameCache.find(text);
      this.#lastNames[code] = cached;
    }
    if (!this.writer.writeCachedField(code, cached)) {
      this.#writeValue(code, text);
    }
  }

  #writeOptional(code: number, value: unknown): void {
    if (value !== undefined) {
      this.#writeValue(code, value);
    }
  }

  #writeValue(code: number, value: unknown): void {
    const fieldStart = this.writer.beginField(code);
    if (value === undefined) {
      // The wire format requires this field, so write an empty object.
      this.writer.writeTag(tag.object);
      this.writer.writeTag(tag.end);
    } else {
      this.#valueWriter.write(value, code);
    }
    this.writer.endField(fieldStart);
  }
}

/**
 * Encodes `source`, which is a run or a record in wire format. The source is passed as an argument so that no closure
 * is allocated for each record.
 */
export type EncodeFunction<Source> = (encoder: RecordEncoder, source: Source) => void;

/** Calls {@link RecordEncoder.encodeStart}. */
export const encodeStart: EncodeFunction<RecordedRun> = (encoder, run) => encoder.encodeStart(run);
/** Calls {@link RecordEncoder.encodeEnd}. */
export const encodeEnd: EncodeFunction<RecordedRun> = (encoder, run) => encoder.encodeEnd(run);
/** Calls {@link RecordEncoder.encodeExchange}. */
export const encodeExchange: EncodeFunction<ExchangeRecord> = (encoder, record) =>
  encoder.encodeExchange(record);
/** Calls {@link RecordEncoder.encodeWire}. */
export const encodeWire: EncodeFunction<WireRecord> = (encoder, record) =>
  encoder.encodeWire(record);

/** Whether a record is the start of a run. Used only when a record is lost, so it need not be fast. */
export const isStart = (encode: unknown, source: unknown): boolean =>
  encode === encodeStart ||
  (typeof source === "object" &&
    source !== null &&
    "operation" in source &&
    source.operation === "post");

/** Keys of a run in wire format that are written by other code above, or that belong to other runs (`child_runs`). */
const excludedKeys = new Set([
  "id",
  "trace_id",
  "dotted_order",
  "project_name",
  "child_runs",
  "attachments",
]);

const fieldCodesByKey = new Map<string, number>([
  ["name", field.name],
  ["run_type", field.runType],
  ["session_name", field.project],
  ["session_id", field.projectId],
  ["parent_run_id", field.parentRunId],
  ["start_time", field.startTime],
  ["end_time", field.endTime],
  ["tags", field.tags],
  ["reference_example_id", field.referenceExampleId],
  ["events", field.events],
  ["error", field.error],
  ["serialized", field.serialized],
]);

function hasRuntime(extra: unknown): boolean {
  try {
    return typeof extra === "object" && extra !== null && "runtime" in extra;
  } catch {
    // `extra` is a proxy that throws when it is read. A marker is recorded in its place.
    return false;
  }
}

/** Returns the fields of a run in wire format, without `undefined` values and functions. */
function readFields(run: unknown): Readonly<Record<string, unknown>> {
  if (typeof run !== "object" || run === null) {
    throw new ValidationError("a run must be an object");
  }
  return Object.fromEntries(
    Object.entries(run).filter(([, value]) => value !== undefined && typeof value !== "function"),
  );
}

/** Checks that a run's id, dotted order and `trace_id` agree, and returns the id and the dotted order. */
function readIdentity(
  id: unknown,
  fields: Readonly<Record<string, unknown>>,
): { readonly runId: string; readonly dottedOrder: string | undefined } {
  assertUuid(id, "run id");
  const { dotted_order: dottedOrder, trace_id: traceId } = fields;
  if (dottedOrder === undefined || dottedOrder === null) {
    return { runId: id, dottedOrder: undefined };
  }
  if (typeof dottedOrder !== "string") {
    throw new ValidationError("dotted_order must be a string");
  }
  const order = parseDottedOrder(dottedOrder);
  if (order.runId.toLowerCase() !== id.toLowerCase()) {
    throw new ValidationError("dotted_order must end with the run's id");
  }
  if (typeof traceId === "string" && traceId.toLowerCase() !== order.traceId.toLowerCase()) {
    throw new ValidationError("dotted_order must begin with a segment of the run's trace_id");
  }
  return { runId: id, dottedOrder };
}
