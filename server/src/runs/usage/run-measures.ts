import { JsonCursor } from "../../bodies/json-cursor.ts";
import { parseTime } from "../../model/parse-time.ts";
import { readBilling } from "./run-billing.ts";
import type { RunBilling, ReportedUsage } from "./run-cost.ts";
import { measureNames } from "./measures.ts";
import type { RunMeasures } from "./measures.ts";
import { toCount, usageCosts, usageMarkers, usageNames, usageSources } from "./usage-sources.ts";
import type { UsageName } from "./usage-sources.ts";

type Members = ReadonlyMap<string, Buffer>;

/** Finds the members of a JSON object. Returns `undefined` if the caller must parse the object instead. */
export type FindMembers = (json: Buffer) => Members | undefined;

const noMeasures = Object.fromEntries(measureNames.map((name) => [name, null])) as RunMeasures;

/**
 * Reads the measures of a run from its received members; `undefined` if it has none, which is usually detected by a
 * byte search, without parsing. The members must be valid JSON. `findMembers` is an optional, faster way to find the
 * members of an object.
 */
export function readMeasures(members: Members, findMembers?: FindMembers): RunMeasures | undefined {
  return readReportedUsage(members, { findMembers, withBilling: false })?.measures;
}

interface ReadOptions {
  readonly findMembers?: FindMembers | undefined;
  /** Whether to also read the facts on which the price depends. */
  readonly withBilling: boolean;
}

/** Like {@link readMeasures}, and also reads the facts on which the price depends. */
export function readReportedUsage(
  members: Members,
  { findMembers = () => undefined, withBilling }: ReadOptions,
): ReportedUsage | undefined {
  const outputs = members.get("outputs");
  const extra = members.get("extra");
  const events = members.get("events");
  const mayReportUsage =
    containsAny(outputs, usageByteMarkers.outputs) || containsAny(extra, usageByteMarkers.metadata);
  const mayReportFirstToken = containsAny(events, tokenByteMarkers);
  if (!mayReportUsage && !mayReportFirstToken) {
    return undefined;
  }
  const usage = mayReportUsage
    ? readUsage({ outputs, extra }, { findMembers, withBilling })
    : undefined;
  const measures = {
    ...(usage?.counts ?? noMeasures),
    first_token_us: mayReportFirstToken ? readFirstToken(events) : null,
  };
  return measureNames.some((name) => measures[name] !== null)
    ? { measures, billing: usage?.billing }
    : undefined;
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

/** The members of a run in which the tokens of a model call may be reported. */
type UsageMembers = Readonly<Record<"outputs" | "extra", Buffer | undefined>>;

function readUsage(
  { outputs, extra }: UsageMembers,
  { findMembers, withBilling }: ReadOptions & { readonly findMembers: FindMembers },
): {
  readonly counts: Readonly<Record<UsageName, number | null>>;
  readonly billing: RunBilling | undefined;
} {
  const findOrReadMembers = (json: Buffer | undefined): Members =>
    json?.[0] === openBrace
      ? (findMembers(json) ?? new JsonCursor(json).readMembers())
      : new Map<string, Buffer>();
  const descend = (json: Buffer | undefined, step: string | number): Buffer | undefined =>
    typeof step === "number" ? readItems(json)[step] : findOrReadMembers(json).get(step);
  const extraMembers = findOrReadMembers(extra);
  const roots = {
    outputs: findOrReadMembers(outputs),
    metadata: findOrReadMembers(extraMembers.get("metadata")),
  };
  const usages: Readonly<Record<string, unknown>>[] = [];
  const measures: Record<UsageName, number | null> = { ...noMeasures };
  for (const { root, steps, names } of usageSources) {
    const [first = "", ...innerSteps] = steps;
    const usage = toObject(innerSteps.reduce(descend, roots[root].get(String(first))));
    usages.push(usage);
    for (const name of usageNames) {
      const value = usage[names[name] ?? ""];
      measures[name] ??= costNames.has(name) ? toFiniteNumber(value) : (toCount(value) ?? null);
    }
  }
  const { prompt_tokens: prompt, completion_tokens: completion } = measures;
  if (prompt !== null && completion !== null) {
    measures.total_tokens ??= prompt + completion;
  }
  const hasTokens = prompt !== null || completion !== null || measures.total_tokens !== null;
  if (!withBilling || !hasTokens) {
    return { counts: measures, billing: undefined };
  }
  const message = messageSteps.reduce(descend, roots.outputs.get("generations"));
  return {
    counts: measures,
    billing: readBilling(
      {
        ...roots,
        extra: extraMembers,
        responseMetadata: findOrReadMembers(findOrReadMembers(message).get("response_metadata")),
        usages,
      },
      findOrReadMembers,
    ),
  };
}

/** The path from the generations to the message of a chat model in LangChain. */
const messageSteps = [0, 0, "message", "kwargs"] as const;

/** Reads the facts in the `extra` of a run on which its price depends. */
export function readExtraBilling(extra: Buffer | undefined): RunBilling {
  const readMembers = (json: Buffer | undefined): Members =>
    json?.[0] === openBrace ? new JsonCursor(json).readMembers() : noMembers;
  const extraMembers = readMembers(extra);
  return readBilling(
    {
      outputs: noMembers,
      extra: extraMembers,
      metadata: readMembers(extraMembers.get("metadata")),
      responseMetadata: noMembers,
      usages: [],
    },
    readMembers,
  );
}

const noMembers: Members = new Map();

const costNames: ReadonlySet<string> = new Set(usageCosts);

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
