import { assertUuid } from "../../model/ids.ts";
import { parseDottedOrder } from "../../model/dotted-order.ts";
import { ValidationError } from "../../model/errors.ts";
import { field, tag } from "../../model/records/tape-format.ts";
import type { Operation } from "../../model/run.ts";
import { checkAttachments, writeAttachments } from "./attachment-writer.ts";
import type { AttachmentRules } from "./attachment-writer.ts";
import type { PayloadFilters } from "./payload-filters.ts";
import { KeyCache } from "./string-cache.ts";
import type { CachedString } from "./string-cache.ts";
import type { RecordedRun } from "./recorder.ts";
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
}

/** Encodes runs as records on a tape. Each payload is traversed once, during the call. */
export class RecordEncoder {
  readonly out: TapeWriter;
  readonly #values: ValueWriter;
  readonly #names = new KeyCache();
  /** By field code: the name that was written last, which is usually the next one too. */
  readonly #lastNames: (CachedString | undefined)[] = [];
  readonly #filters: PayloadFilters;
  readonly #rules: AttachmentRules;

  constructor(out: TapeWriter, { filters, attachments }: EncoderOptions) {
    this.out = out;
    this.#rules = attachments;
    this.#values = new ValueWriter(out);
    this.#filters = filters;
  }

  /** Encodes the record of a run's start. */
  start(run: RecordedRun): void {
    this.out.beginRecord("post");
    this.#writeIdentity(run);
    this.#writeName(field.name, run.name);
    this.#writeName(field.runType, run.runType);
    this.#writeValue(field.inputs, this.#filters.inputs(run.inputs));
    this.#writeDetails(run);
    this.#writeOptional(field.serialized, run.serialized);
    this.#writeOptional(field.referenceExampleId, run.referenceExampleId);
    this.#writeAttachments(run.attachments);
  }

  /** Encodes the record of a run's end. */
  end(run: RecordedRun): void {
    this.out.beginRecord("patch");
    this.#writeIdentity(run);
    if (run.endMicros !== undefined) {
      this.out.doubleField(field.endMicros, run.endMicros);
    }
    if (run.outputs !== undefined) {
      this.#writeValue(field.outputs, this.#filters.outputs(run.outputs));
    }
    this.#writeOptional(field.error, run.error);
    this.#writeOptional(field.events, run.events);
    if (run.detailsChanged) {
      this.#writeDetails(run);
    }
    this.#writeAttachments(run.attachments);
  }

  /**
   * Encodes the record of a run in wire format.
   *
   * @throws {@link ValidationError} the id is not a UUID, the dotted order is malformed, or it contradicts the id or
   * the trace id.
   */
  wire({ operation, id, run, projectName }: WireRecord): void {
    const fields = fieldsOf(run);
    const { runId, dottedOrder } = identityOf(id, fields);
    this.out.beginRecord(operation);
    if (dottedOrder === undefined) {
      this.out.asciiField(field.id, runId);
    } else {
      this.out.asciiField(field.dottedOrder, dottedOrder);
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
        this.#writeValue(field.inputs, filters.inputs(value));
        break;
      case "outputs":
        this.#writeValue(field.outputs, filters.outputs(value));
        break;
      case "extra":
        this.#writeValue(
          hasRuntime(value) ? field.extraWithRuntime : field.extra,
          filters.extra(value),
        );
        break;
      default: {
        const code = fieldCodesByKey.get(key);
        if (code === undefined) {
          this.#writeOther(key, value);
        } else {
          this.#writeValue(code, value);
        }
      }
    }
  }

  #writeIdentity(run: RecordedRun): void {
    this.out.orderField(field.dottedOrder, run);
    this.#writeName(field.project, run.projectName);
  }

  #writeDetails(run: RecordedRun): void {
    this.#writeOptional(field.tags, run.tags);
    const metadata = this.#filters.metadata(run.metadata);
    // Write an empty object too: the worker creates `extra` from it and adds the runtime information.
    this.#writeValue(field.metadata, metadata ?? {});
  }

  #writeOther(key: string, value: unknown): void {
    const mark = this.out.beginField(field.other);
    this.out.text(key);
    this.#values.write(value);
    this.out.endField(mark);
  }

  /** Call this after all other fields: {@link writeAttachments} reserves exactly the capacity that is left to write. */
  #writeAttachments(attachments: unknown): void {
    if (attachments !== undefined) {
      writeAttachments(this.out, checkAttachments(attachments, this.#rules));
    }
  }

  /** Writes a text that repeats in many runs, from the cache if possible. */
  #writeName(code: number, text: string): void {
    let cached = this.#lastNames[code];
    if (cached?.text !== text) {
      cached = this.#names.find(text);
      this.#lastNames[code] = cached;
    }
    if (!this.out.cachedField(code, cached)) {
      this.#writeValue(code, text);
    }
  }

  #writeOptional(code: number, value: unknown): void {
    if (value !== undefined) {
      this.#writeValue(code, value);
    }
  }

  #writeValue(code: number, value: unknown): void {
    const mark = this.out.beginField(code);
    if (value === undefined) {
      // The wire format requires this field, so write an empty object.
      this.out.tag(tag.object);
      this.out.tag(tag.end);
    } else {
      this.#values.write(value, code);
    }
    this.out.endField(mark);
  }
}

/** Encodes a subject with an encoder. The subject is an argument so that no closure is allocated for each record. */
export type Encode<Subject> = (encoder: RecordEncoder, subject: Subject) => void;

export const encodeStart: Encode<RecordedRun> = (encoder, run) => encoder.start(run);
export const encodeEnd: Encode<RecordedRun> = (encoder, run) => encoder.end(run);
export const encodeWire: Encode<WireRecord> = (encoder, record) => encoder.wire(record);

/** Whether a record is the start of a run. Used only when a record is lost, so it need not be fast. */
export const isStart = (encode: unknown, subject: unknown): boolean =>
  encode === encodeStart ||
  (typeof subject === "object" &&
    subject !== null &&
    "operation" in subject &&
    subject.operation === "post");

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
    // A proxy that throws when it is read. A marker is recorded in its place.
    return false;
  }
}

/** The fields of a run in wire format, without `undefined` values and functions. */
function fieldsOf(run: unknown): Readonly<Record<string, unknown>> {
  if (typeof run !== "object" || run === null) {
    throw new ValidationError("a run must be an object");
  }
  return Object.fromEntries(
    Object.entries(run).filter(([, value]) => value !== undefined && typeof value !== "function"),
  );
}

/** Checks that a run's id, dotted order and `trace_id` agree, and returns the id and the dotted order. */
function identityOf(
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
