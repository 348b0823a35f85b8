import { createHash } from "node:crypto";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { JsonValue } from "../jobs/job.ts";
import { RequestError } from "../model/errors.ts";
import {
  initialScanLimit,
  parseSearch,
  searchWithin,
} from "../runs/handlers/run-search-handlers.ts";
import type { ListPosition, RunListReads, RunSearch } from "../runs/run-list.ts";
import type { RunPart, StoredRun } from "../runs/run-row.ts";
import { toIso } from "../http/wire-text.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that reads the runs of an action. */
export interface MatchingRunStore {
  readonly read: Promised<{ readonly runLists: RunListReads }>;
}

const time = Type.String({ maxLength: 64 });

/**
 * Selects the runs of one project to which an action applies: those that meet all of the given conditions. Each member
 * means the same as in the body of `POST /ui/runs/search`.
 */
export const matchingRunsSchema = Type.Object({
  session: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 1 }),
  id: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 1_000 })),
  filter: Type.Optional(Type.String({ maxLength: 20_000 })),
  is_root: Type.Optional(Type.Boolean()),
  start_time: Type.Optional(time),
  end_time: Type.Optional(time),
});

export type MatchingRuns = Static<typeof matchingRunsSchema>;

/** Milliseconds that counting the matching runs may take before a job is created. */
const countMs = 1_500;
/** Maximum number of runs that one step counts. */
const runsPerCountStep = 20_000;
/** Maximum time in milliseconds for which one step of a job searches for runs. */
const searchMs = 250;

/**
 * Limits the runs of an action to those that have begun by now. Also counts them, unless that takes too long.
 *
 * @throws RequestError 422: the filter or an id is invalid.
 */
export async function snapshotMatchingRuns(
  store: MatchingRunStore,
  tenantId: string,
  runs: MatchingRuns,
): Promise<{ readonly runs: MatchingRuns; readonly total: number | undefined }> {
  const latestMicros = createSearch(runs, 1).filter.latestStartMicros ?? Infinity;
  const snapshot = { ...runs, end_time: toIso(Math.min(latestMicros, Date.now() * 1_000)) };
  const total = await countMatchingRuns(store, tenantId, createSearch(snapshot, 1));
  return { runs: snapshot, total };
}

/** Counts the runs that match a search. Returns `undefined` if that takes too long. */
export async function countMatchingRuns(
  store: MatchingRunStore,
  tenantId: string,
  matching: RunSearch,
): Promise<number | undefined> {
  let total = 0;
  const { nextPosition } = await searchWithin(
    { ...matching, limit: Number.MAX_SAFE_INTEGER },
    countMs,
    async (step) => {
      const search = { ...step, limit: runsPerCountStep };
      const { counts, ...position } = await store.read.runLists.countMatches(
        tenantId,
        search,
        wholeTimeMicros,
      );
      total += counts.reduce((sum, count) => sum + count.runs, 0);
      return { runs: [], ...position };
    },
  );
  return nextPosition === undefined ? total : undefined;
}

/** Ten years: runs are counted per interval of time, and with this width, a few intervals contain all runs. */
const wholeTimeMicros = 315_360_000_000_000;

/** The runs of one step of an action, and the cursor of the next step, which is absent after the last one. */
export interface RunSlice {
  readonly runs: readonly StoredRun[];
  readonly cursor?: JsonValue;
}

/**
 * Reads the next matching runs, the latest first.
 *
 * @param parts - the parts to read of each run; all parts if absent
 */
export async function readMatchingRuns(
  store: MatchingRunStore,
  tenantId: string,
  {
    runs: wanted,
    cursor,
    limit,
    parts,
  }: {
    /** Selects the matching runs. */
    readonly runs: MatchingRuns;
    readonly cursor: JsonValue;
    readonly limit: number;
    readonly parts?: ReadonlySet<RunPart>;
  },
): Promise<RunSlice> {
  const search: RunSearch = {
    ...createSearch(wanted, limit),
    ...(parts === undefined ? {} : { parts }),
    ...(cursor === null ? {} : { after: parsePosition(cursor) }),
  };
  const slice = await searchWithin(search, searchMs, (step) =>
    store.read.runLists.search(tenantId, step),
  );
  const { nextPosition } = slice;
  return {
    runs: slice.runs,
    ...(nextPosition === undefined
      ? {}
      : { cursor: { micros: nextPosition.micros, id: nextPosition.id } }),
  };
}

const createSearch = (runs: MatchingRuns, limit: number): RunSearch => ({
  ...parseSearch({ ...runs, sort: "start", order: "desc" }),
  limit,
  scanLimit: initialScanLimit,
});

function parsePosition(cursor: JsonValue): ListPosition {
  const { micros, id } = Object(cursor) as Partial<ListPosition>;
  if (typeof micros !== "number" || typeof id !== "string") {
    throw new RequestError(422, "the cursor of the job is not valid");
  }
  return { micros, id };
}

/**
 * Derives the id of the object that a job creates for a run. The same job and run always give the same id, so that a
 * repeated step creates nothing twice.
 */
export function deriveId(jobId: string, runId: string): string {
  const hex = createHash("sha256").update(`${jobId}/${runId}`).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** Describes a number of runs for a title: `1,200 runs`, or `all matching runs` if the number is unknown. */
export const describeRuns = (total: number | undefined): string =>
  total === undefined
    ? "all matching runs"
    : `${total.toLocaleString("en")} ${total === 1 ? "run" : "runs"}`;
