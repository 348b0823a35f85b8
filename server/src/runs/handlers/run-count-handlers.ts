import type { FastifyRequest } from "fastify";
import type { ValueKind } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { parseTimeBound } from "../../model/parse-time.ts";
import { countIntervalMicros } from "../run-list.ts";
import type { RunStore } from "../run-store.ts";
import { toIso } from "../../http/wire-text.ts";
import { firstValue, parseCount, parseId, parseBoolean } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

const bucketsDefault = 80;
const bucketsMax = 240;

/**
 * `GET /ui/runs/counts`: counts the runs of a project by intervals of their start times. If the query does not
 * contain `from` and `to`, they are the start times of the first and the last run.
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
  const fromMicros = parseMicros(query, "from") ?? range?.fromMicros;
  const toMicros = parseMicros(query, "to") ?? range?.toMicros;
  if (fromMicros === undefined || toMicros === undefined || toMicros < fromMicros) {
    return { from: null, to: null, width_ms: countIntervalMicros / 1_000, buckets: [] };
  }
  const widthInIntervals = Math.max(
    1,
    Math.ceil((toMicros - fromMicros) / bucketCount / countIntervalMicros),
  );
  const counts = await store.read.runLists.countRuns(tenantId, {
    projectId,
    isRoot: parseBoolean(query, "is_root"),
    fromMicros,
    toMicros,
    widthMicros: widthInIntervals * countIntervalMicros,
  });
  return {
    from: toIso(fromMicros),
    to: toIso(toMicros),
    width_ms: (widthInIntervals * countIntervalMicros) / 1_000,
    buckets: counts.map(({ startMicros, runs, errors }) => ({
      start: toIso(startMicros),
      runs,
      errors,
    })),
  };
}

function parseMicros(query: QueryString, name: string): number | undefined {
  const text = firstValue(query, name);
  if (text === undefined || text === "") {
    return undefined;
  }
  const micros = parseTimeBound(text);
  if (micros === undefined) {
    throw new RequestError(
      422,
      `${name} is not an ISO 8601 time: ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
  return micros;
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
