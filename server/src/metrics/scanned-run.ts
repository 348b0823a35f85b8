import { userKeys } from "millrace/model";
import type { RunStatus } from "../model/run-status.ts";
import { isModelCall } from "../runs/usage/run-cost.ts";
import type { RunRow } from "../runs/run-row.ts";
import { MetricCounts } from "./metric-body.ts";
import type { CountedRun } from "./metric-cell.ts";
import type { UnitCounts } from "./metric-summary.ts";
import { dimensions } from "./metrics.ts";
import type { Dimension } from "./metrics.ts";

/** Metadata key that names the model of a run. */
const modelKey = "ls_model_name";

/** Maximum number of tags of one run that are counted. */
const maxTags = 100;

/** A run with the values that it has in each dimension. A run can have several tags, and is counted for each. */
export interface ScannedRun extends CountedRun {
  readonly startMicros: number;
  /** See `classesByScope`. */
  readonly runClass: number;
  readonly values: { readonly [Name in Dimension]: readonly string[] };
}

/** Counts for each dimension, by its index. */
export type CountsByDimension = readonly MetricCounts[];

/** Adds a run to the counts of each dimension. Runs that are not model calls have no value in the dimension `model`. */
export function countRun(counts: CountsByDimension, run: ScannedRun): void {
  const { runClass } = run;
  for (const [index, name] of dimensions.entries()) {
    const values = run.values[name];
    if (values.length > 0) {
      for (const value of values) {
        counts[index]?.findOrCreate({ runClass, kind: "value", value }).add(run);
      }
    } else {
      counts[index]?.findOrCreate({ runClass, kind: "none", value: "" }).add(run);
    }
  }
}

/** The columns of a run that are counted. */
export interface ScannedColumns extends Pick<
  RunRow,
  "startMicros" | "name" | "runType" | "endMicros" | "hasError" | "parentRunId"
> {
  readonly totalTokens: number | null;
  readonly totalCost: number | null;
  readonly firstTokenMicros: number | null;
}

/** The sums over all runs of a trace, which metrics count at its root. */
export interface TraceSums {
  /** The usage of its model calls. The cost is in US dollars. */
  readonly tokens: number;
  readonly cost: number;
  /** The time of the earliest first token of any of its runs; `null` without one. */
  readonly firstTokenMicros: number | null;
}

export type SumsByTrace = ReadonlyMap<string, TraceSums>;

/**
 * Creates a run as metrics count it.
 *
 * @param members - the members `tags` and `extra` of its payload
 * @param trace - the sums of its trace, if it is the root
 */
export function createScannedRun(
  run: ScannedColumns,
  members: ReadonlyMap<string, Buffer>,
  trace: TraceSums | undefined,
): ScannedRun {
  const { startMicros, endMicros, firstTokenMicros } = run;
  const isModel = isModelCall(run.runType);
  const metadata = readMetadata(members.get("extra"));
  const toDuration = (micros: number | null): number | null =>
    micros === null ? null : micros - startMicros;
  return {
    startMicros,
    runClass: (run.parentRunId === null ? 1 : 0) + (isModel ? 2 : 0),
    hasError: run.hasError,
    latencyMicros: toDuration(endMicros),
    firstTokenMicros: toDuration(firstTokenMicros),
    tokens: isModel ? (run.totalTokens ?? 0) : 0,
    cost: isModel ? (run.totalCost ?? 0) : 0,
    traceTokens: trace?.tokens ?? 0,
    traceCost: trace?.cost ?? 0,
    traceFirstTokenMicros:
      firstTokenMicros === null ? toDuration(trace?.firstTokenMicros ?? null) : null,
    values: {
      status: [toStatus(run.hasError, endMicros)],
      name: [run.name],
      model: isModel ? toTexts(metadata[modelKey]) : [],
      tag: readTags(members.get("tags")),
      user: [...new Set(userKeys.flatMap((key) => toTexts(metadata[key])))],
    },
  };
}

function toStatus(hasError: boolean, endMicros: number | null): RunStatus {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

const modelMarker = Buffer.from(`"${modelKey}"`);
const userMarkers = userKeys.map((key) => Buffer.from(`"${key}"`));

/** Most runs have none of these keys; searching for the bytes avoids parsing their `extra`. */
function readMetadata(extra: Buffer | undefined): Readonly<Record<string, unknown>> {
  if (
    extra === undefined ||
    !(extra.includes(modelMarker) || userMarkers.some((marker) => extra.includes(marker)))
  ) {
    return {};
  }
  return toFields(toFields(parseJson(extra))["metadata"]);
}

function readTags(json: Buffer | undefined): readonly string[] {
  if (json === undefined || json.length <= 2) {
    return [];
  }
  const tags = parseJson(json);
  return Array.isArray(tags)
    ? [...new Set(tags.filter((tag): tag is string => typeof tag === "string"))].slice(0, maxTags)
    : [];
}

const toTexts = (value: unknown): readonly string[] =>
  (typeof value === "string" && value !== "") || typeof value === "number" ? [String(value)] : [];

function parseJson(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString("utf8"));
  } catch {
    return undefined; // Only damaged data is not JSON. Such a run has no values in these dimensions.
  }
}

const toFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

/** Encodes the counts of some dimensions, by the start of their units of time. */
export const toUnits = (
  dimensionIndexes: readonly number[],
  countsByStart: ReadonlyMap<number, readonly MetricCounts[]>,
): readonly UnitCounts[] =>
  [...countsByStart].flatMap(([startMicros, counts]) =>
    dimensionIndexes.flatMap((dimensionIndex) => {
      const body = counts[dimensionIndex]?.encode();
      return body === undefined ? [] : [{ startMicros, dimensionIndex, body }];
    }),
  );

/** Creates empty counts for each dimension, such as the model or the tag of a run. */
export const createCounts = (): MetricCounts[] => dimensions.map(() => new MetricCounts());
