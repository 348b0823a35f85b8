import type { ValueKind } from "millrace/model";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText, encodeText } from "../../storage/postgres/text-encoding.ts";
import type { Promised } from "../../storage/promised.ts";
import { countFacetValues, facetParts } from "../facet-counts.ts";
import { countIntervalMicros } from "../run-list.ts";
import type {
  CountQuery,
  CountSlice,
  FacetSlice,
  RunCount,
  RunListReads,
  RunSearch,
  SearchSlice,
  StoredCounts,
  SuggestionQuery,
} from "../run-list.ts";
import type { RunPart, StoredRun } from "../run-row.ts";
import { createTraceModelsSql } from "./run-filter-source.ts";
import { RunFinder } from "./run-finder.ts";
import type { PostgresRunReader } from "./run-reader.ts";

const traceModelsSql = createTraceModelsSql("r");
/** Milliseconds after which a step stops reading the models of traces. */
const traceModelsMs = 60;
/** Number of traces whose models one query reads. */
const rootsPerQuery = 30;
/**
 * Maximum number of traces that one step reads. There is no time to read the models of many more traces within
 * `traceModelsMs`.
 */
const rootsPerStep = 60;

const parseModels = (json: string | null): readonly string[] =>
  ((JSON.parse(json ?? "[]") ?? []) as readonly string[]).map(decodeText);

type PromisedListReads = Promised<{ readonly runLists: RunListReads }>["runLists"];

/** Reads the counts that are stored with the metrics, so that the runs of 90 days need not be counted one by one. */
export interface StoredCountReads {
  countStored(tenantId: string, query: CountQuery): Promise<StoredCounts>;
}

/** Adds up the counts of each interval. */
function sumByInterval(counts: readonly RunCount[]): readonly RunCount[] {
  const totals = new Map<number, RunCount>();
  for (const { startMicros, runs, errors } of counts.filter((count) => count.runs > 0)) {
    const total = totals.get(startMicros);
    totals.set(startMicros, {
      startMicros,
      runs: (total?.runs ?? 0) + runs,
      errors: (total?.errors ?? 0) + errors,
    });
  }
  return [...totals.values()];
}

/** Runs the queries of the UI's run list. */
export class PostgresRunListReader implements PromisedListReads {
  readonly #db: PostgresDatabase;
  readonly #runs: PostgresRunReader;
  readonly #storedCounts: StoredCountReads;
  readonly #finder: RunFinder;

  constructor(db: PostgresDatabase, runs: PostgresRunReader, storedCounts: StoredCountReads) {
    this.#db = db;
    this.#runs = runs;
    this.#storedCounts = storedCounts;
    this.#finder = new RunFinder(db, runs);
  }

  async search(tenantId: string, search: RunSearch): Promise<SearchSlice<StoredRun>> {
    const { runs, ...position } = await this.#finder.search(tenantId, search);
    return { runs: await this.#runs.readDetails(runs, search.parts), ...position };
  }

  async countFacets(tenantId: string, search: RunSearch): Promise<FacetSlice> {
    const isTraceList = search.filter.isRoot === true;
    const { runs, ...position } = await this.search(tenantId, {
      ...search,
      limit: isTraceList ? Math.min(search.limit, rootsPerStep) : search.limit,
      parts: facetParts,
    });
    if (!isTraceList) {
      return { counts: countFacetValues(runs), runCount: runs.length, ...position };
    }
    const traceModels = await this.#readTraceModels(tenantId, runs);
    const counted = runs.slice(0, traceModels.size);
    const last = counted.at(-1);
    return {
      counts: countFacetValues(counted, traceModels),
      runCount: counted.length,
      ...(last === undefined || counted.length === runs.length
        ? position
        : { nextPosition: { micros: last.row.startMicros, id: last.row.id } }),
    };
  }

  /**
   * Reads the models of traces, by the id of the root, in the order of the roots. Traces may be large, so reading stops
   * after `traceModelsMs`. The models of at least {@link rootsPerQuery} traces are read.
   */
  async #readTraceModels(
    tenantId: string,
    roots: readonly StoredRun[],
  ): Promise<ReadonlyMap<string, readonly unknown[]>> {
    const endMs = performance.now() + traceModelsMs;
    const models = new Map<string, readonly unknown[]>();
    for (let start = 0; start < roots.length; start += rootsPerQuery) {
      const group = roots.slice(start, start + rootsPerQuery).map(({ row }) => row);
      const { rows } = await this.#db.query<{
        readonly id: string;
        readonly models: string | null;
      }>(
        `SELECT r.id, ${traceModelsSql}::text AS models
         FROM unnest($2::text[], $3::text[]) i (trace_id, id)
         JOIN runs r ON r.tenant_id = $1 AND r.trace_id = i.trace_id AND r.id = i.id`,
        [tenantId, group.map(({ traceId }) => traceId), group.map(({ id }) => id)],
      );
      const found = new Map(rows.map(({ id, models: json }) => [id, parseModels(json)]));
      group.forEach(({ id }) => models.set(id, found.get(id) ?? []));
      if (performance.now() > endMs) {
        break;
      }
    }
    return models;
  }

  async countMatches(
    tenantId: string,
    search: RunSearch,
    widthMicros: number,
  ): Promise<CountSlice> {
    const { runs, ...position } = await this.search(tenantId, { ...search, parts: countedParts });
    const counts = sumByInterval(
      runs.map(({ row }) => ({
        startMicros: Math.floor(row.startMicros / widthMicros) * widthMicros,
        runs: 1,
        errors: Number(row.hasError),
      })),
    );
    return { counts, ...position };
  }

  async readStartTimeRange(
    tenantId: string,
    projectId: string,
  ): Promise<{ readonly fromMicros: number; readonly toMicros: number } | undefined> {
    const { rows } = await this.#db.query<{
      readonly first: number | null;
      readonly last: number | null;
    }>(
      `SELECT (SELECT min(start_us) FROM runs WHERE tenant_id = $1 AND project_id = $2) AS first,
         (SELECT max(start_us) FROM runs WHERE tenant_id = $1 AND project_id = $2) AS last`,
      [tenantId, projectId],
    );
    const { first = null, last = null } = rows[0] ?? {};
    return first === null || last === null ? undefined : { fromMicros: first, toMicros: last };
  }

  /**
   * Adds up the counts that are stored with the metrics, and counts the other runs by an index. Must be the first call
   * of its transaction.
   */
  async countRuns(tenantId: string, query: CountQuery): Promise<readonly RunCount[]> {
    const { projectId, isRoot, fromMicros, toMicros, widthMicros } = query;
    const width = Math.max(1, Math.round(widthMicros / countIntervalMicros)) * countIntervalMicros;
    const from = Math.floor(fromMicros / countIntervalMicros) * countIntervalMicros;
    const to = (Math.floor(toMicros / countIntervalMicros) + 1) * countIntervalMicros;
    const { counts, uncounted } = await this.#storedCounts.countStored(tenantId, {
      ...query,
      fromMicros: from,
      toMicros: to,
      widthMicros: width,
    });
    const rootCondition =
      isRoot === undefined ? "" : `AND r.parent_run_id IS ${isRoot ? "" : "NOT "}NULL`;
    // The division of integers rounds towards zero, so the numbers of the intervals must not be negative.
    const origin = Math.floor(from / width) * width;
    const { rows } = await this.#db.query<{
      readonly interval: number;
      readonly runs: number;
      readonly errors: number;
    }>(
      `SELECT (r.start_us - $5::bigint) / $6::bigint AS interval, count(*) AS runs, sum(r.has_error) AS errors
       FROM unnest($3::bigint[], $4::bigint[]) u (first, next)
       JOIN runs r ON r.tenant_id = $1 AND r.project_id = $2 AND r.start_us >= u.first AND r.start_us < u.next ${rootCondition}
       GROUP BY 1`,
      [
        tenantId,
        projectId,
        uncounted.map((range) => range.fromMicros),
        uncounted.map((range) => range.toMicros),
        origin,
        width,
      ],
    );
    return sumByInterval([
      ...counts.map((count) => ({
        ...count,
        startMicros: Math.floor(count.startMicros / width) * width,
      })),
      ...rows.map(({ interval, runs, errors }) => ({
        startMicros: origin + interval * width,
        runs,
        errors,
      })),
    ]).toSorted((left, right) => left.startMicros - right.startMicros);
  }

  async listSuggestions(tenantId: string, query: SuggestionQuery): Promise<readonly string[]> {
    const { projectId, kind, prefix, limit } = query;
    if (kind === "feedback_key") {
      return this.#listFeedbackKeys(tenantId, query);
    }
    const facetPrefix = createFacetPrefix(query);
    const { rows } = await this.#db.query<{ readonly facet: string }>(
      `SELECT facet FROM run_facets WHERE tenant_id = $1 AND project_id = $2 AND starts_with(facet, $3)
         AND facet >= $3 ORDER BY facet LIMIT $4::int`,
      [tenantId, projectId, encodeText(facetPrefix + prefix), Math.min(limit, maxSuggestions)],
    );
    return rows.map(({ facet }) => decodeText(facet).slice(facetPrefix.length));
  }

  async #listFeedbackKeys(
    tenantId: string,
    { prefix, limit }: SuggestionQuery,
  ): Promise<readonly string[]> {
    const { rows } = await this.#db.query<{ readonly key_json: string }>(
      `SELECT DISTINCT key_json FROM feedback WHERE tenant_id = $1 AND run_id IS NOT NULL ORDER BY key_json LIMIT $2::int`,
      [tenantId, maxSuggestions],
    );
    return rows
      .map(({ key_json: json }) => String(JSON.parse(json)))
      .filter((key) => key.startsWith(prefix))
      .slice(0, limit);
  }
}

/** Maximum number of values that one query returns. */
const maxSuggestions = 2_000;

const countedParts: ReadonlySet<RunPart> = new Set(["startMicros", "hasError"]);

const facetPrefixes: {
  readonly [Kind in Exclude<ValueKind, "feedback_key" | "metadata_value">]: string;
} = { name: "n", run_type: "y", tag: "t", metadata_key: "k" };

/** Returns the beginning of all facets of this kind; see `facets.ts`. */
function createFacetPrefix({ kind, key = "" }: SuggestionQuery): string {
  if (kind === "metadata_value") {
    return `p${key.length}:${key}=`;
  }
  return kind === "feedback_key" ? "" : facetPrefixes[kind];
}
