import { JsonCursor } from "../bodies/json-cursor.ts";
import { parseTime } from "../model/parse-time.ts";
import { usageMarkers, usageNames, usageSources } from "./usage-sources.ts";
import type { UsageName } from "./usage-sources.ts";

/**
 * Names of the numbers in a run's payload that are also stored in columns of `runs`, so that statistics need not read
 * payloads.
 */
export const measureNames = [...usageNames, "first_token_us"] as const;

export type MeasureName = (typeof measureNames)[number];

/** The measures of a run; `null` for a number that the run does not report. */
export type RunMeasures = Readonly<Record<MeasureName, number | null>>;

type Members = ReadonlyMap<string, Buffer>;

/** Finds the members of a JSON object. Returns `undefined` if the caller must parse the object instead. */
export type FindMembers = (json: Buffer) => Members | undefined;

const noMeasures = Object.fromEntries(measureNames.map((name) => [name, null])) as RunMeasures;

/**
 * Reads the measures of a run from its received members; `undefined` if it has none, which is usually detected by a
 * byte search, without parsing. The members must be valid JSON. `findMembers` is an optional, faster way to find the
 * members of an object.
 */
export function readMeasures(
  members: Members,
  findMembers: FindMembers = () => undefined,
): RunMeasures | undefined {
  const outputs = members.get("outputs");
  const extra = members.get("extra");
  const events = members.get("events");
  const mayReportUsage =
    containsAny(outputs, usageByteMarkers.outputs) || containsAny(extra, usageByteMarkers.metadata);
  const mayReportFirstToken = containsAny(events, tokenByteMarkers);
  if (!mayReportUsage && !mayReportFirstToken) {
    return undefined;
  }
  const measures = {
    ...(mayReportUsage ? readUsage({ outputs, extra }, findMembers) : noMeasures),
    first_token_us: mayReportFirstToken ? readFirstToken(events) : null,
  };
  return measureNames.some((name) => measures[name] !== null) ? measures : undefined;
}

const toBytes = (text: string): Buffer => Buffer.from(text);
const usageByteMarkers = {
  outputs: usageMarkers.outputs.map(toBytes),
  metadata: usageMarkers.metadata.map(toBytes),
};
const tokenByteMarkers = [toBytes("_token")];

function containsAny(json: Buffer | undefined, needles: readonly Buffer[]): boolean {
  if (json !== undefined) {
    for (const needle of needles) {
      if (json.includes(needle)) {
        return true;
      }
    }
  }
  return false;
}

/** Members that may report usage. */
type Roots = Readonly<Record<"outputs" | "extra", Buffer | undefined>>;

function readUsage({ outputs, extra }: Roots, findMembers: FindMembers) {
  const findOrReadMembers = (json: Buffer | undefined): Members =>
    json?.[0] === openBrace
      ? (findMembers(json) ?? new JsonCursor(json).readMembers())
      : new Map<string, Buffer>();
  const descend = (json: Buffer | undefined, step: string | number): Buffer | undefined =>
    typeof step === "number" ? readItems(json)[step] : findOrReadMembers(json).get(step);
  const roots = {
    outputs: findOrReadMembers(outputs),
    metadata: findOrReadMembers(descend(extra, "metadata")),
  };
  const measures: Record<UsageName, number | null> = { ...noMeasures };
  for (const { root, steps, names } of usageSources) {
    const [first = "", ...innerSteps] = steps;
    const usage = toObject(innerSteps.reduce(descend, roots[root].get(String(first))));
    for (const name of usageNames) {
      measures[name] ??= toFiniteNumber(usage[names[name] ?? ""]);
    }
  }
  const { prompt_tokens: prompt, completion_tokens: completion } = measures;
  if (prompt !== null && completion !== null) {
    measures.total_tokens ??= prompt + completion;
  }
  return measures;
}

/** Returns a finite number, and `null` for anything else. `1e999` is not finite: JavaScript parses it to Infinity. */
const toFiniteNumber = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Returns the time at which the first token of a streamed response arrived. */
function readFirstToken(events: Buffer | undefined): number | null {
  for (const json of readItems(events)) {
    const event = containsAny(json, tokenByteMarkers) ? toObject(json) : {};
    if (event["name"] === "new_token") {
      return parseTime(event["time"]) ?? null;
    }
  }
  return null;
}

const [openBrace, openBracket] = [0x7b, 0x5b];

const readItems = (json: Buffer | undefined): readonly Buffer[] =>
  json?.[0] === openBracket ? new JsonCursor(json).readItems() : [];

const toObject = (json: Buffer | undefined): Readonly<Record<string, unknown>> =>
  json?.[0] === openBrace
    ? (JSON.parse(json.toString("utf8")) as Readonly<Record<string, unknown>>)
    : {};
