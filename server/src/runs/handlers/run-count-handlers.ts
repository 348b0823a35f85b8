import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import type { FastifyRequest } from "fastify";
import type { ValueKind } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { readFilter } from "../../filter/filter-parameter.ts";
import { selectRunFields } from "../../filter/fields.ts";
import type { CheckedFilter } from "../../filter/checker.ts";
import { countIntervalMicros } from "../run-list.ts";
import type { CountQuery, RunCount } from "../run-list.ts";
import type { RunStore } from "../run-store.ts";
import { toIso } from "../../http/wire-text.ts";
import {
  firstValue,
  parseBoolean,
  parseCount,
  parseId,
  parseTimeParameter,
} from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";
import { initialScanLimit, searchWithin } from "./run-search-handlers.ts";

const bucketsDefault = 80;
const bucketsMax = 240;

/** Maximum number of runs that one step counts. */
const runsPerCountStep = 20_000;
/** Milliseconds after which counting the runs of a filter ends. The response then contains the start time reached. */
const countTimeLimitMs = 400;

/**
 * `GET /ui/runs/counts`: counts the runs of a project by intervals of their start times. If the query does not
 * contain `from` and `to`, they are the start times of the first and the last run. With a `filter`, the matching runs
 * are counted for a limited time, the newest first; `counted_to` is then the start time that was reached.
 */
export async function countRuns(store: RunStore, request: FastifyRequest): Promise<unknown> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const projectId = parseId(firstValue(query, "session"), "session");
  const bucketCount = parseCount(query, "buckets", {
    fallback: bucketsDefault,
    min: 1,
    max: bucketsMax,
  });
  const range = await store.read.runLists.readStartTimeRange(tenantId, projectId);
  const fromMicros = parseTimeParameter(query, "from") ?? range?.fromMicros;
  const toMicros = parseTimeParameter(query, "to") ?? range?.toMicros;
  if (fromMicros === undefined || toMicros === undefined || toMicros < fromMicros) {
    return { from: null, to: null, width_ms: countIntervalMicros / 1_000, buckets: [] };
  }
  const widthMicros = chooseWidth((toMicros - fromMicros) / bucketCount);
  const isRoot = parseBoolean(query, "is_root");
  const countQuery = { projectId, isRoot, fromMicros, toMicros, widthMicros };
  const filter = readFilter(
    selectRunFields(isRoot === true),
    "filter",
    firstValue(query, "filter"),
  );
  const { counts, countedToMicros } =
    filter === undefined
      ? { counts: await store.read.runLists.countRuns(tenantId, countQuery) }
      : await countMatches(store, tenantId, { ...countQuery, filter });
  return {
    from: toIso(fromMicros),
    to: toIso(toMicros),
    width_ms: widthMicros / 1_000,
    counted_to: countedToMicros === undefined ? null : toIso(countedToMicros),
    buckets: counts.map(({ startMicros, runs, errors }) => ({
      start: toIso(startMicros),
      runs,
      errors,
    })),
  };
}

/**
 * Returns the width of an interval, which is at least `minMicros`. Counts are stored per minute, hour and day, so the
 * width is a multiple of the longest of these units that is shorter than `minMicros`, or else of `countIntervalMicros`.
 */
function chooseWidth(minMicros: number): number {
  const unitMicros =
    [dayMicros, hourMicros, minuteMicros].find((unit) => minMicros > unit) ?? countIntervalMicros;
  return Math.max(1, Math.ceil(minMicros / unitMicros)) * unitMicros;
}

/** Counts the runs that match a filter, in steps, until the list ends or the time limit is reached. */
async function countMatches(
  store: RunStore,
  tenantId: string,
  {
    projectId,
    isRoot,
    fromMicros,
    toMicros,
    widthMicros,
    filter,
  }: CountQuery & { readonly filter: CheckedFilter },
): Promise<{ readonly counts: readonly RunCount[]; readonly countedToMicros?: number }> {
  const totals = new Map<number, RunCount>();
  const { nextPosition } = await searchWithin(
    {
      projectId,
      filter: {
        runFilters: [filter],
        earliestStartMicros: fromMicros,
        latestStartMicros: toMicros,
        ...(isRoot === undefined ? {} : { isRoot }),
      },
      sort: "start",
      order: "desc",
      limit: Number.MAX_SAFE_INTEGER,
      scanLimit: initialScanLimit,
    },
    countTimeLimitMs,
    async (step) => {
      const { counts, ...position } = await store.read.runLists.countMatches(
        tenantId,
        { ...step, limit: runsPerCountStep },
        widthMicros,
      );
      for (const { startMicros, runs, errors } of counts) {
        const total = totals.get(startMicros);
        totals.set(startMicros, {
          startMicros,
          runs: runs + (total?.runs ?? 0),
          errors: errors + (total?.errors ?? 0),
        });
      }
      return { runs: [], ...position };
    },
  );
  return {
    counts: [...totals.values()].toSorted((left, right) => left.startMicros - right.startMicros),
    ...(nextPosition === undefined ? {} : { countedToMicros: nextPosition.micros }),
  };
}

const valueKinds: readonly ValueKind[] = [
  "name",
  "run_type",
  "tag",
  "metadata_key",
  "metadata_value",
  "feedback_key",
];

const maxPrefixChars = 200;

/**
 * `GET /ui/runs/words`: returns suggestions for the filter bar: names, types, tags, metadata keys and values, or
 * feedback keys of the project's runs, sorted.
 */
export async function listRunSuggestions(
  store: RunStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const kind = valueKinds.find((candidate) => candidate === firstValue(query, "kind"));
  if (kind === undefined) {
    throw new RequestError(422, `kind must be one of ${valueKinds.join(", ")}`);
  }
  const suggestions = await store.read.runLists.listSuggestions(request.tenantId, {
    projectId: parseId(firstValue(query, "session"), "session"),
    kind,
    key: firstValue(query, "key") ?? "",
    prefix: (firstValue(query, "prefix") ?? "").slice(0, maxPrefixChars),
    limit: parseCount(query, "limit", { fallback: 50, min: 1, max: 200 }),
  });
  return { words: suggestions };
}
