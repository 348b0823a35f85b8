import { JsonCursor } from "../bodies/json-cursor.ts";
import { parseTime } from "../model/parse-time.ts";
import { usageMarks, usageNames, usageSources } from "./usage-sources.ts";
import type { UsageName } from "./usage-sources.ts";

/**
 * Numbers in a run's payload that are kept beside it, in columns of `runs` with these names, so that
 * runs are counted without reading what they hold.
 */
export const measureNames = [...usageNames, "first_token_us"] as const;

export type MeasureName = (typeof measureNames)[number];

/** `null` where the run does not say. */
export type RunMeasures = Readonly<Record<MeasureName, number | null>>;

type Members = ReadonlyMap<string, Buffer>;

/** `undefined` where it can't. */
type FindMembers = (json: Buffer) => Members | undefined;

const noMeasures = Object.fromEntries(measureNames.map((name) => [name, null])) as RunMeasures;

/**
 * The measures of a run from its received members; `undefined` where it has none, which is detected without a walk through
 * them. The members are valid JSON: that was checked when they were received. `findMembers`: a quicker way to the members of an
 * object.
 */
export function readMeasures(
  members: Members,
  findMembers: FindMembers = () => undefined,
): RunMeasures | undefined {
  const [outputs, extra, events] = [
    members.get("outputs"),
    members.get("extra"),
    members.get("events"),
  ];
  const isUsage = has(outputs, marks.outputs) || has(extra, marks.metadata);
  const isStreamed = has(events, tokenMarks);
  if (!isUsage && !isStreamed) {
    return undefined;
  }
  const found = {
    ...(isUsage ? readUsage({ outputs, extra }, findMembers) : noMeasures),
    first_token_us: isStreamed ? readFirstToken(events) : null,
  };
  return measureNames.some((name) => found[name] !== null) ? found : undefined;
}

const toMark = (text: string): Buffer => Buffer.from(text);
const marks = {
  outputs: usageMarks.outputs.map(toMark),
  metadata: usageMarks.metadata.map(toMark),
};
const tokenMarks = [toMark("_token")];

const has = (json: Buffer | undefined, words: readonly Buffer[]): boolean =>
  json !== undefined && words.some((word) => json.includes(word));

/** Members in which usage is reported. */
type Roots = Readonly<Record<"outputs" | "extra", Buffer | undefined>>;

function readUsage({ outputs, extra }: Roots, findMembers: FindMembers) {
  const membersOf = (json: Buffer | undefined): Members =>
    json?.[0] === openBrace
      ? (findMembers(json) ?? new JsonCursor(json).readMembers())
      : new Map<string, Buffer>();
  const enter = (json: Buffer | undefined, step: string | number): Buffer | undefined =>
    typeof step === "number" ? itemsOf(json)[step] : membersOf(json).get(step);
  const tops = { outputs: membersOf(outputs), metadata: membersOf(enter(extra, "metadata")) };
  const found: Record<UsageName, number | null> = { ...noMeasures };
  for (const { root, steps, names } of usageSources) {
    const [first = "", ...rest] = steps;
    const usage = toObject(rest.reduce(enter, tops[root].get(String(first))));
    for (const name of usageNames) {
      found[name] ??= numberOf(usage[names[name] ?? ""]);
    }
  }
  const { prompt_tokens: prompt, completion_tokens: completion } = found;
  if (prompt !== null && completion !== null) {
    found.total_tokens ??= prompt + completion;
  }
  return found;
}

/** Not a text, and not what JavaScript makes of `1e999`. */
const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** When the first token of a streamed answer came. */
function readFirstToken(events: Buffer | undefined): number | null {
  for (const json of itemsOf(events)) {
    const event = has(json, tokenMarks) ? toObject(json) : {};
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
