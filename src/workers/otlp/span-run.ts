import { threadKeys, userKeys } from "../../model/metadata-keys.ts";
import { payloadFields } from "../../model/run.ts";
import type { PayloadField } from "../../model/run.ts";
import { JsonWriter } from "../json/json-writer.ts";
import type { RunOperation } from "../json/operations.ts";
import { hasFieldValue, writeFieldValue } from "../json/run-list.ts";
import type { RunJson } from "../json/run-json.ts";
import { firstText, toItems, toMembers } from "./json-value.ts";
import type { Members } from "./json-value.ts";
import type { JsonBytes } from "./protobuf-writer.ts";

const initialBytes = 65_536;
const closeBrace = 0x7d;

/** A run as the span encoder reads it: its fields, and the JSON of its payloads. */
export class SpanRun {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly dottedOrder: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly project: string | undefined;
  readonly projectId: string | undefined;
  readonly exampleId: string | undefined;
  readonly tags: readonly string[];
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  /** All fields except the payloads, as one JSON object. */
  readonly envelope: JsonBytes;
  readonly #payloads: ReadonlyMap<PayloadField, Uint8Array>;
  #extra: Members | undefined;

  /** @throws RangeError the run has no valid start or end time. */
  constructor(envelope: JsonBytes, payloads: ReadonlyMap<PayloadField, Uint8Array>) {
    const run = toMembers(parseBytes(envelope.json));
    this.envelope = envelope;
    this.#payloads = payloads;
    this.id = firstText(run["id"]) ?? "";
    this.traceId = firstText(run["trace_id"]) ?? this.id;
    this.parentId = firstText(run["parent_run_id"]);
    this.dottedOrder = firstText(run["dotted_order"]);
    this.name = firstText(run["name"]) ?? "unnamed";
    this.runType = firstText(run["run_type"]) ?? "chain";
    this.project = firstText(run["session_name"]);
    this.projectId = firstText(run["session_id"]);
    this.exampleId = firstText(run["reference_example_id"]);
    this.tags = toItems(run["tags"]).filter((tag) => typeof tag === "string");
    this.startNanos = toNanos("start_time", run["start_time"]);
    this.endNanos = toNanos("end_time", run["end_time"]);
  }

  /** Returns the JSON of a payload; `undefined` if the run does not have it. */
  readJson(field: PayloadField): JsonBytes | undefined {
    const json = this.#payloads.get(field);
    return json === undefined ? undefined : { json };
  }

  /** Parses a payload; `undefined` if the run does not have it. */
  parse(field: PayloadField): unknown {
    const json = this.#payloads.get(field);
    return json === undefined ? undefined : parseBytes(json);
  }

  get extra(): Members {
    this.#extra ??= toMembers(this.parse("extra"));
    return this.#extra;
  }

  get metadata(): Members {
    return toMembers(this.extra["metadata"]);
  }

  get threadId(): string | undefined {
    return firstText(...threadKeys.map((key) => this.metadata[key]));
  }

  get userId(): string | undefined {
    return firstText(...userKeys.map((key) => this.metadata[key]));
  }
}

/** Reads runs from a tape, the buffer in which they were recorded. */
export class SpanRunReader {
  /** The JSON of one run. It is overwritten by the next one. */
  readonly #scratch = new JsonWriter(Buffer.allocUnsafeSlow(initialBytes));

  /** Reads a run. The result is valid until the next call. @throws RangeError the run has no valid times. */
  read(json: RunJson, run: RunOperation): SpanRun {
    const out = this.#scratch;
    out.length = 0;
    json.writeEnvelope(out, run);
    out.writeByte(closeBrace);
    const envelopeEnd = out.length;
    const ranges: (readonly [PayloadField, number, number])[] = [];
    for (const field of payloadFields) {
      if (hasFieldValue(json, run, field)) {
        const start = out.length;
        writeFieldValue(out, json, run, field);
        ranges.push([field, start, out.length]);
      }
    }
    // The buffer may have been replaced while the fields were written, so its parts are taken now.
    const { bytes } = out;
    const payloads = new Map(
      ranges.map(([field, start, end]) => [field, bytes.subarray(start, end)] as const),
    );
    return new SpanRun({ json: bytes.subarray(0, envelopeEnd) }, payloads);
  }
}

const parseBytes = (json: Uint8Array): unknown =>
  JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString("utf8"));

/** Date and time in ISO 8601: up to the seconds, the fraction of a second, and the zone. */
const isoPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?$/;

/**
 * Converts a time of the wire format, ISO 8601 or milliseconds since the Unix epoch, to nanoseconds. A time without a
 * zone is in UTC.
 *
 * @throws RangeError the value is not a time.
 */
export function toNanos(name: string, value: unknown): bigint {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) {
    return BigInt(Math.round(value * 1_000)) * 1_000n;
  }
  const [, seconds, fraction = "", zone = "Z"] =
    typeof value === "string" ? (isoPattern.exec(value) ?? []) : [];
  const millis = seconds === undefined ? Number.NaN : Date.parse(seconds + zone);
  if (!(millis >= 0)) {
    throw new RangeError(`The run has no valid ${name}`);
  }
  return BigInt(millis) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}
