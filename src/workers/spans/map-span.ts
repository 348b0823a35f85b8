import { isUuid } from "../../model/ids.ts";
import { toIso } from "../../model/iso-time.ts";
import { readAiName, takeAiContent } from "./ai-sdk.ts";
import { AttributeBag } from "./attribute-bag.ts";
import { readJson, readMembers } from "./json-text.ts";
import type { JsonText } from "./json-text.ts";
import { takeTags, toInvocationParams, toLinks, toMetadata } from "./metadata.ts";
import { toRunType } from "./run-type.ts";
import { addFinishReasons, takeEmbeddings, takeInputs, takeOutputs } from "./span-content.ts";
import { toErrorText } from "./span-error.ts";
import { toEvents } from "./span-events.ts";
import { takePosition } from "./span-position.ts";
import type { SpanRecord } from "./span-position.ts";
import type { Span } from "./span.ts";
import { takeUsage } from "./usage.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * The run that a span becomes: its members in the wire format, and the span's position in its trace. Values may contain
 * `JsonText`s; a member that is `undefined` is absent.
 */
export interface MappedSpan {
  readonly members: Members;
  readonly span: SpanRecord;
}

/**
 * Converts a span to a run. `project` is the project of the request, for spans that name none. A run that Millrace's
 * SDK sent as a span is restored exactly.
 */
export function mapSpan(span: Span, project: string | undefined): MappedSpan {
  return restoreRun(span) ?? convertSpan(span, project);
}

function convertSpan(span: Span, project: string | undefined): MappedSpan {
  const bag = new AttributeBag(span.attributes, span.warnings);
  const position = takePosition(span, bag);
  const runType = toRunType(bag);
  const error = toErrorText(span, bag);
  const members: Members = {
    ...position.members,
    name: takeName(span, bag, runType),
    run_type: runType,
    ...toTimes(span, bag),
    ...takeProject(span, bag, project),
    error,
    reference_example_id: takeUuid(bag, "langsmith.reference_example_id"),
    tags: takeTags(bag),
    events: toEvents(span, bag),
    // Must come last: all remaining attributes become metadata.
    ...takePayload(span, bag),
  };
  return { span: position.span, members };
}

function takeName(span: Span, bag: AttributeBag, runType: string): string {
  const name =
    bag.takeText("langsmith.trace.name") ??
    (runType === "tool" ? bag.peekText("tool.name") : undefined) ??
    bag.peekText("traceloop.entity.name") ??
    readAiName(bag);
  return name ?? (span.name || "unnamed");
}

/**
 * Converts the times of a span from nanoseconds, rounded down to microseconds. A span without an end time has not
 * ended. One that ends before it starts, because the clock was set back, ends when it starts.
 */
function toTimes({ startNanos, endNanos }: Span, bag: AttributeBag): Members {
  const start = startNanos === 0n ? endNanos : startNanos;
  if (endNanos !== 0n && endNanos < start) {
    bag.warn("endTimeUnixNano", "is before startTimeUnixNano", toTime(endNanos));
  }
  return {
    start_time: start === 0n ? undefined : toTime(start),
    end_time: endNanos === 0n ? undefined : toTime(endNanos < start ? start : endNanos),
  };
}

const toTime = (nanos: bigint): string => toIso(Number(nanos / 1_000n));

/**
 * Returns the project of a span, and removes it from the span's attributes. A project that the span itself names takes
 * precedence over one that all spans of the request or process have in common.
 */
function takeProject(span: Span, bag: AttributeBag, project: string | undefined): Members {
  const id = takeUuid(bag, "langsmith.trace.session_id");
  const name = bag.takeText("langsmith.trace.session_name") ?? project;
  const sharedName = ["langsmith.trace.session_name", "openinference.project.name"]
    .map((key) => span.resource.get(key))
    .find((value) => typeof value === "string" && value !== "");
  return id === undefined ? { session_name: name ?? sharedName } : { session_id: id };
}

function takePayload(span: Span, bag: AttributeBag): Members {
  const usage = takeUsage(bag);
  const embeddings = takeEmbeddings(bag);
  const ai = takeAiContent(bag);
  const inputs = { ...embeddings.inputs, ...ai.inputs, ...takeInputs(bag, span.events) };
  const outputs = addFinishReasons(bag, {
    ...(usage === undefined ? {} : { usage_metadata: usage }),
    ...embeddings.outputs,
    ...ai.outputs,
    ...takeOutputs(bag, span.events),
  });
  const links = toLinks(span.links);
  const params = toInvocationParams(bag);
  const metadata = {
    ...toMetadata(span, bag),
    ...(usage === undefined ? {} : { usage_metadata: usage }),
  };
  return {
    inputs,
    outputs: Object.keys(outputs).length === 0 ? undefined : outputs,
    extra: {
      metadata,
      ...(params === undefined ? {} : { invocation_params: params }),
      ...(links.length === 0 ? {} : { links }),
    },
  };
}

function takeUuid(bag: AttributeBag, name: string): string | undefined {
  return isUuid(bag.peekText(name)) ? bag.takeText(name) : undefined;
}

/** The attribute with all members of the run except its payloads. Only Millrace's SDK sends it. */
const runAttribute = "millrace.run";

/** The attributes that contain the payloads of the run as JSON. */
const payloadAttributes: readonly (readonly [member: string, ...names: string[]])[] = [
  ["inputs", "input.value", "gen_ai.tool.call.arguments"],
  ["outputs", "output.value", "gen_ai.tool.call.result"],
  ["extra", "millrace.extra"],
  ["events", "millrace.events"],
  ["error", "millrace.error"],
  ["serialized", "millrace.serialized"],
];

/**
 * Restores a run that Millrace's SDK sent as a span (the option `otlp`). Returns `undefined` for any other span. Also
 * returns `undefined` if an attribute was changed on its way and is no longer JSON: the span is then converted like any
 * other.
 */
function restoreRun(span: Span): MappedSpan | undefined {
  const encoded = span.attributes.get(runAttribute);
  const run = typeof encoded === "string" ? readMembers(encoded) : undefined;
  if (run?.has("id") !== true) {
    return undefined;
  }
  const bag = new AttributeBag(span.attributes);
  const position = takePosition(span, bag);
  const members = new Map<string, JsonText>(run);
  for (const [member, ...names] of payloadAttributes) {
    const value = bag.peek(...names);
    if (value !== undefined) {
      const json = typeof value === "string" ? readJson(value) : undefined;
      if (json === undefined) {
        return undefined;
      }
      members.set(member, json);
    }
  }
  return { members: Object.fromEntries(members), span: position.span };
}
