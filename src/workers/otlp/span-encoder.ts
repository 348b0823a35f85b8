import { toSpanIdOfRun, toTraceId } from "../../model/span-ids.ts";
import type { RuntimeFacts, SpanSettings } from "../../model/records/shipping.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { RunOperation } from "../json/operations.ts";
import type { RunJson } from "../json/run-json.ts";
import { addGenAiAttributes } from "./gen-ai-attributes.ts";
import { readModelCall } from "./model-call.ts";
import type { ModelCall } from "./model-call.ts";
import { addOpenInferenceAttributes } from "./open-inference-attributes.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";
import type { SpanAttributes } from "./protobuf-writer.ts";
import { toSpanEvents, toSpanLinks } from "./span-details.ts";
import { SpanRunReader } from "./span-run.ts";
import type { SpanRun } from "./span-run.ts";

// Field numbers of the messages of OTLP (opentelemetry/proto/trace/v1/trace.proto).
const request = { resourceSpans: 1 } as const;
const resourceSpans = { resource: 1, scopeSpans: 2 } as const;
const resource = { attributes: 1 } as const;
const scopeSpans = { scope: 1, spans: 2 } as const;
const scope = { name: 1, version: 2 } as const;
const span = {
  traceId: 1,
  spanId: 2,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTime: 7,
  endTime: 8,
  attributes: 9,
  events: 11,
  links: 13,
  status: 15,
} as const;
const spanEvent = { time: 1, name: 2, attributes: 3 } as const;
const spanLink = { traceId: 1, spanId: 2, attributes: 4 } as const;
const spanStatus = { message: 2, code: 3 } as const;

const spanKind = { internal: 1, client: 3 } as const;
const statusCode = { ok: 1, error: 2 } as const;

/** Run types that call another service. */
const clientTypes = new Set(["llm", "embedding", "retriever"]);
/** Run types that call a model. */
const modelTypes = new Set(["llm", "embedding"]);

/** Encodes ended runs as a request of OTLP over HTTP, in protobuf. */
export class SpanEncoder {
  readonly #settings: SpanSettings;
  readonly #runtime: RuntimeFacts;
  readonly #reader = new SpanRunReader();

  constructor(settings: SpanSettings, runtime: RuntimeFacts) {
    this.#settings = settings;
    this.#runtime = runtime;
  }

  /**
   * Writes the body of a request with these runs, which must have ended.
   *
   * @throws RangeError a run has no valid times.
   */
  writeRequest(out: JsonWriter, json: RunJson, runs: readonly RunOperation[]): void {
    const writer = new ProtobufWriter(out);
    let remainingRuns = runs;
    while (remainingRuns.length > 0) {
      remainingRuns = this.#writeProject(writer, json, remainingRuns);
    }
  }

  /**
   * Writes the runs at the beginning of the list that have the same project, because all spans of a resource have the
   * same project. Returns the remaining runs.
   */
  #writeProject(
    writer: ProtobufWriter,
    json: RunJson,
    runs: readonly RunOperation[],
  ): readonly RunOperation[] {
    const project = this.#readProject(json, runs[0]);
    let count = 0;
    writer.writeMessage(request.resourceSpans, () => {
      writer.writeMessage(resourceSpans.resource, () => {
        writer.writeAttributes(resource.attributes, this.#createResource(project));
      });
      writer.writeMessage(resourceSpans.scopeSpans, () => {
        writer.writeMessage(scopeSpans.scope, () => {
          writer.writeText(scope.name, "millrace");
          writer.writeText(scope.version, this.#runtime.sdk_version);
        });
        for (const run of runs) {
          if (count > 0 && this.#readProject(json, run) !== project) {
            break;
          }
          count += 1;
          json.markWhileWriting(run, () => {
            const spanRun = this.#reader.read(json, run);
            writer.writeMessage(scopeSpans.spans, () => this.#writeSpan(writer, spanRun));
          });
        }
      });
    });
    return runs.slice(count);
  }

  #readProject(json: RunJson, run: RunOperation | undefined): string {
    const project = run === undefined ? undefined : json.readProject(run);
    return project ?? this.#settings.projectName;
  }

  #createResource(project: string): SpanAttributes {
    return new Map([
      ["service.name", project],
      ["openinference.project.name", project],
      ["langsmith.trace.session_name", project],
      ["telemetry.sdk.name", this.#runtime.sdk],
      ["telemetry.sdk.language", "nodejs"],
      ["telemetry.sdk.version", this.#runtime.sdk_version],
      ["process.runtime.name", "nodejs"],
      ["process.runtime.version", this.#runtime.runtime_version],
    ]);
  }

  #writeSpan(writer: ProtobufWriter, run: SpanRun): void {
    const isClient = clientTypes.has(run.runType);
    writer.writeBytes(span.traceId, Buffer.from(toTraceId(run.traceId), "hex"));
    writer.writeBytes(span.spanId, Buffer.from(toSpanIdOfRun(run.id), "hex"));
    if (run.parentId !== undefined) {
      writer.writeBytes(span.parentSpanId, Buffer.from(toSpanIdOfRun(run.parentId), "hex"));
    }
    writer.writeText(span.name, run.name);
    writer.writeUint(span.kind, isClient ? spanKind.client : spanKind.internal);
    writer.writeFixed64(span.startTime, run.startNanos);
    writer.writeFixed64(span.endTime, run.endNanos);
    writer.writeAttributes(span.attributes, this.#createAttributes(run));
    for (const { name, nanos, attributes } of toSpanEvents(run)) {
      writer.writeMessage(span.events, () => {
        writer.writeFixed64(spanEvent.time, nanos);
        writer.writeText(spanEvent.name, name);
        writer.writeAttributes(spanEvent.attributes, attributes);
      });
    }
    for (const { traceId, spanId, attributes } of toSpanLinks(run)) {
      writer.writeMessage(span.links, () => {
        writer.writeBytes(spanLink.traceId, Buffer.from(traceId, "hex"));
        writer.writeBytes(spanLink.spanId, Buffer.from(spanId, "hex"));
        writer.writeAttributes(spanLink.attributes, attributes);
      });
    }
    this.#writeStatus(writer, run);
  }

  #writeStatus(writer: ProtobufWriter, run: SpanRun): void {
    const error = readError(run);
    const code = error === undefined ? statusCode.ok : statusCode.error;
    // By the conventions a span without an error has no status. OpenInference's own libraries set the status `ok`.
    if (error !== undefined || this.#settings.convention === "openinference") {
      writer.writeMessage(span.status, () => {
        if (error !== undefined) {
          writer.writeText(spanStatus.message, error.split("\n", 1)[0] ?? "");
        }
        writer.writeUint(spanStatus.code, code);
      });
    }
  }

  #createAttributes(run: SpanRun): SpanAttributes {
    const attributes: SpanAttributes = new Map();
    const addConventionAttributes =
      this.#settings.convention === "gen_ai" ? addGenAiAttributes : addOpenInferenceAttributes;
    addConventionAttributes(attributes, run, toModelCall(run));
    this.#addPayload(attributes, run, "input");
    this.#addPayload(attributes, run, "output");
    addErrorType(attributes, run);
    addPosition(attributes, run);
    // A Millrace server restores the run from these attributes, which also contain the fields for which the conventions
    // have no names.
    attributes.set("millrace.run", run.envelope);
    for (const field of ["extra", "events", "error", "serialized"] as const) {
      const json = run.readJson(field);
      if (json !== undefined) {
        attributes.set(`millrace.${field}`, json);
      }
    }
    return attributes;
  }

  /**
   * Adds the inputs or outputs as JSON. In the conventions for generative AI, the inputs and outputs of a tool have
   * separate attributes with the same JSON.
   */
  #addPayload(attributes: SpanAttributes, run: SpanRun, name: "input" | "output"): void {
    const json = run.readJson(`${name}s`);
    const isTool = this.#settings.convention === "gen_ai" && run.runType === "tool";
    if (json !== undefined && !isTool) {
      attributes.set(`${name}.value`, json);
      attributes.set(`${name}.mime_type`, "application/json");
    }
  }
}

/** Reads the model call that the run recorded; `undefined` if the run does not call a model. */
function toModelCall(run: SpanRun): ModelCall | undefined {
  if (!modelTypes.has(run.runType)) {
    return undefined;
  }
  const call = readModelCall({
    inputs: run.parse("inputs"),
    outputs: run.parse("outputs"),
    extra: run.extra,
  });
  // The texts and vectors of embeddings are not messages.
  return run.runType === "embedding"
    ? { ...call, instructions: [], inputMessages: [], outputMessages: [] }
    : call;
}

/** Returns the error's text; `undefined` if the run has no error. */
function readError(run: SpanRun): string | undefined {
  const error = run.parse("error");
  return typeof error === "string" && error !== "" ? error : undefined;
}

function addErrorType(attributes: SpanAttributes, run: SpanRun): void {
  const error = readError(run);
  if (error !== undefined) {
    attributes.set("error.type", /^([A-Za-z_$][\w$.]*): /.exec(error)?.[1] ?? "_OTHER");
  }
}

/** Adds the attributes from which LangSmith restores the ids of the run. */
function addPosition(attributes: SpanAttributes, run: SpanRun): void {
  const values: readonly (readonly [string, string | undefined])[] = [
    ["langsmith.span.kind", run.runType],
    ["langsmith.span.id", run.id],
    ["langsmith.trace.id", run.traceId],
    ["langsmith.span.dotted_order", run.dottedOrder],
    ["langsmith.span.parent_id", run.parentId],
    ["langsmith.trace.session_id", run.projectId],
    ["langsmith.reference_example_id", run.exampleId],
  ];
  for (const [name, value] of values) {
    if (value !== undefined) {
      attributes.set(name, value);
    }
  }
}
