import { JsonCursor } from "../bodies/json-cursor.ts";
import { parseTime } from "../model/parse-time.ts";
import { usageMarks, usageNames, usageSources } from "./usage-sources.ts";
import type { UsageName } from "./usage-sources.ts";

/**
 * Numbers from a run's payload that are also stored in columns of `runs` with these names, so that statistics don't
 * need to read payloads.
 */
export const measureNames = [...usageNames, "first_token_us"] as const;

export type MeasureName = (typeof measureNames)[number];

/** `null` where the run does not report the number. */
export type RunMeasures = Readonly<Record<MeasureName, number | null>>;

type Members = ReadonlyMap<string, Buffer>;

/** Returns `undefined` where it can't find the members. */
export type FindMembers = (json: Buffer) => Members | undefined;

const noMeasures = Object.fromEntries(measureNames.map((name) => [name, null])) as RunMeasures;

/**
 * Reads the measures of a run from its received members; `undefined` if it has none, which a byte search detects
 * without parsing. The members must be valid JSON, which was checked on receipt. `findMembers` is an optional,
 * faster way to find the members of an object.
 */
export function readMeasures(
  members: Members,
  findMembers: FindMembers = () => undefined,
): RunMeasures | undefined {
  const outputs = members.get("outputs");
  const extra = members.get("extra");
  const events = members.get("events");
  const mayReportUsage =
    containsAny(outputs, usageMarkers.outputs) || containsAny(extra, usageMarkers.metadata);
  const mayReportFirstToken = containsAny(events, tokenMarkers);
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
const usageMarkers = {
  outputs: usageMarks.outputs.map(toBytes),
  metadata: usageMarks.metadata.map(toBytes),
};
const tokenMarkers = [toBytes("_token")];

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
  const membersOf = (json: Buffer | undefined): Members =>
    json?.[0] === openBrace
      ? (findMembers(json) ?? new JsonCursor(json).readMembers())
      : new Map<string, Buffer>();
  const descend = (json: Buffer | undefined, step: string | number): Buffer | undefined =>
    typeof step === "number" ? itemsOf(json)[step] : membersOf(json).get(step);
  const roots = { outputs: membersOf(outputs), metadata: membersOf(descend(extra, "metadata")) };
  const measures: Record<UsageName, number | null> = { ...noMeasures };
  for (const { root, steps, names } of usageSources) {
    const [first = "", ...innerSteps] = steps;
    const usage = toObject(innerSteps.reduce(descend, roots[root].get(String(first))));
    for (const name of usageNames) {
      measures[name] ??= numberOf(usage[names[name] ?? ""]);
    }
  }
  const { prompt_tokens: prompt, completion_tokens: completion } = measures;
  if (prompt !== null && completion !== null) {
    measures.total_tokens ??= prompt + completion;
  }
  return measures;
}

/** Returns a finite number, and `null` for anything else, also for `1e999`, which JavaScript parses to Infinity. */
const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Time at which the first token of a streamed response arrived. */
function readFirstToken(events: Buffer | undefined): number | null {
  for (const json of itemsOf(events)) {
    const event = containsAny(json, tokenMarkers) ? toObject(json) : {};
    if (event["name"] === "new_token") {
      return parseTime(event["time"]) ?? null;
    }
  }
  return null;
}

const [openBrace, openBracket] = [0x7b, 0x5b];

const itemsOf = (json: Buffer | undefined): readonly Buffer[] =>
  json?.[0] === openBracket ? new JsonCursor(json).readItems() : [];

const toObject = (json: Buffer | undefined): Readonly<Record<string, unknown>> =>
  json?.[0] === openBrace
    ? (JSON.parse(json.toString("utf8")) as Readonly<Record<string, unknown>>)
    : {};
