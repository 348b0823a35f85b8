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

/** A run, or part of one, that is wire-shaped already. */
export interface WireRecord {
  readonly operation: Operation;
  readonly id: unknown;
  readonly run: unknown;
  /** Where it is filed if it names no project. */
  readonly projectName: string;
}

/** What an encoder is made with, beside its tape. */
export interface EncoderOptions {
  readonly filters: PayloadFilters;
  readonly attachments: AttachmentRules;
}

/** Turns runs into records on a tape. One walk over each payload, at the call. */
export class RecordEncoder {
  readonly out: TapeWriter;
  readonly #values: ValueWriter;
  readonly #names = new KeyCache();
  /** By field: the name that it held the last time. */
  readonly #last: (CachedString | undefined)[] = [];
  readonly #filters: PayloadFilters;
  readonly #rules: AttachmentRules;

  constructor(out: TapeWriter, { filters, attachments }: EncoderOptions) {
    this.out = out;
    this.#rules = attachments;
    this.#values = new ValueWriter(out);
    this.#filters = filters;
  }

  /** The record of a run's start. */
  start(run: RecordedRun): void {
    this.out.beginRecord("post");
    this.#identity(run);
    this.#name(field.name, run.name);
    this.#name(field.runType, run.runType);
    this.#value(field.inputs, this.#filters.inputs(run.inputs));
    this.#details(run);
    this.#optional(field.serialized, run.serialized);
    this.#optional(field.referenceExampleId, run.referenceExampleId);
    this.#attachments(run.attachments);
  }

  /** The record of a run's end. */
  end(run: RecordedRun): void {
    this.out.beginRecord("patch");
    this.#identity(run);
    if (run.endMicros !== undefined) {
      this.out.doubleField(field.endMicros, run.endMicros);
    }
    if (run.outputs !== undefined) {
      this.#value(field.outputs, this.#filters.outputs(run.outputs));
    }
    this.#optional(field.error, run.error);
    this.#optional(field.events, run.events);
    if (run.detailsChanged) {
      this.#details(run);
    }
    this.#attachments(run.attachments);
  }

  /**
   * The record of a run that is wire-shaped already.
   *
   * @throws {@link ValidationError} the id is no UUID, or the dotted order is not one or contradicts it.
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
    // A patch that names no project leaves the run where it is.
    if (operation === "post" && !("session_id" in fields) && !("session_name" in fields)) {
      this.#value(field.project, fields["project_name"] ?? projectName);
    }
    for (const [key, value] of Object.entries(fields)) {
      if (!handledKeys.has(key)) {
        this.#wireField(key, value);
      }
    }
    this.#attachments(fields["attachments"]);
  }

  #wireField(key: string, value: unknown): void {
    const filters = this.#filters;
    switch (key) {
      case "inputs":
        this.#value(field.inputs, filters.inputs(value));
        break;
      case "outputs":
        this.#value(field.outputs, filters.outputs(value));
        break;
      case "extra":
        this.#value(hasRuntime(value) ? field.extraWithRuntime : field.extra, filters.extra(value));
        break;
      default: {
        const code = wireCodes.get(key);
        if (code === undefined) {
          this.#other(key, value);
        } else {
          this.#value(code, value);
        }
      }
    }
  }

  #identity(run: RecordedRun): void {
    this.out.orderField(field.dottedOrder, run);
    this.#name(field.project, run.projectName);
  }

  #details(run: RecordedRun): void {
    this.#optional(field.tags, run.tags);
    const metadata = this.#filters.metadata(run.metadata);
    // An empty object too: the worker makes `extra` of it, with the runtime facts.
    this.#value(field.metadata, metadata ?? {});
  }

  #other(key: string, value: unknown): void {
    const mark = this.out.beginField(field.other);
    this.out.text(key);
    this.#values.write(value);
    this.out.endField(mark);
  }

  /** Behind all other fields: how much room they take is known. */
  #attachments(given: unknown): void {
    if (given !== undefined) {
      writeAttachments(this.out, checkAttachments(given, this.#rules));
    }
  }

  /** A text that many runs have. */
  #name(code: number, text: string): void {
    let cached = this.#last[code];
    if (cached?.text !== text) {
      cached = this.#names.find(text);
      this.#last[code] = cached;
    }
    if (!this.out.cachedField(code, cached)) {
      this.#value(code, text);
    }
  }

  #optional(code: number, value: unknown): void {
    if (value !== undefined) {
      this.#value(code, value);
    }
  }

  #value(code: number, value: unknown): void {
    const mark = this.out.beginField(code);
    if (value === undefined) {
      // The wire requires this payload, and the run has none.
      this.out.tag(tag.object);
      this.out.tag(tag.end);
    } else {
      this.#values.write(value, code);
    }
    this.out.endField(mark);
  }
}

/** Encodes what it is handed: a closure for each record would be garbage. */
export type Encode<Subject> = (encoder: RecordEncoder, subject: Subject) => void;

export const encodeStart: Encode<RecordedRun> = (encoder, run) => encoder.start(run);
export const encodeEnd: Encode<RecordedRun> = (encoder, run) => encoder.end(run);
export const encodeWire: Encode<WireRecord> = (encoder, record) => encoder.wire(record);

/** Whether what is encoded is the start of a run; for the rare path, where a record is not taken. */
export const isStart = (encode: unknown, subject: unknown): boolean =>
  encode === encodeStart ||
  (typeof subject === "object" &&
    subject !== null &&
    "operation" in subject &&
    subject.operation === "post");

/** Keys of a wire run that are written elsewhere, or that the wire has under other runs. */
const handledKeys = new Set([
  "id",
  "trace_id",
  "dotted_order",
  "project_name",
  "child_runs",
  "attachments",
]);

const wireCodes = new Map<string, number>([
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
    // A proxy that refuses to be looked at: a marker is recorded in its place.
    return false;
  }
}

/** The fields of a wire-shaped run that hold something. */
function fieldsOf(run: unknown): Readonly<Record<string, unknown>> {
  if (typeof run !== "object" || run === null) {
    throw new ValidationError("a run must be an object");
  }
  return Object.fromEntries(
    Object.entries(run).filter(([, value]) => value !== undefined && typeof value !== "function"),
  );
}

/** A run's id and dotted order, once they agree with each other and with its trace_id. */
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
    throw new ValidationError("dotted_order must be a text");
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
