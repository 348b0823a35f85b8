import type { ValueKind } from "millrace/model";
import { listRunPartitions } from "./partitions.ts";
import { always, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText, encodeText } from "../../storage/postgres/text-encoding.ts";
import type { Promised } from "../../storage/promised.ts";
import { countFacetValues, facetParts } from "../facet-counts.ts";
import { countIntervalMicros } from "../run-list.ts";
import type {
  CountQuery,
  CountSlice,
  FacetSlice,
  ListPosition,
  RunCount,
  RunListReads,
  RunSearch,
  SearchSlice,
  SuggestionQuery,
} from "../run-list.ts";
import type { RunFilter } from "../run-query.ts";
import type { RunPart, StoredRun } from "../run-row.ts";
import { createTraceModelsSql } from "./run-filter-source.ts";
import { parameter, toCondition, toNumbered } from "./run-conditions.ts";
import type { PostgresRunReader } from "./run-reader.ts";
import { createNarrowCondition, listFilterGrams } from "./run-narrowing.ts";
import { runColumnsSql } from "./run-shape.ts";
import type { FoundRun } from "./run-shape.ts";
import { TextBlocks } from "./text-index/text-blocks.ts";

const traceModelsSql = createTraceModelsSql("r");
/** Milliseconds that one step may take to read the models of traces. */
const traceModelsMs = 200;
/** Traces whose models one query reads. */
const rootsAtOnce = 20;

const parseModels = (json: string | null): readonly string[] =>
  ((JSON.parse(json ?? "[]") ?? []) as readonly string[]).map(decodeText);

type PromisedListReads = Promised<{ readonly runLists: RunListReads }>["runLists"];

/** Runs the queries of the UI's run list. */
export class PostgresRunListReader implements PromisedListReads {
  readonly #db: PostgresDatabase;
  readonly #runs: PostgresRunReader;
  readonly #blocks: TextBlocks;

  constructor(db: PostgresDatabase, runs: PostgresRunReader) {
    this.#db = db;
    this.#runs = runs;
    this.#blocks = new TextBlocks(db);
  }

  /**
   * A step scans some runs in the order of the list, which finds frequent matches at once. If that is not enough, and an
   * index finds the runs that match the filter, or nearly those, the step continues with these.
   */
  async search(tenantId: string, search: RunSearch): Promise<SearchSlice<StoredRun>> {
    const filter: RunFilter = { ...search.filter, projectIds: [search.projectId] };
    const context = { tenantId, filter: await this.#runs.addTraceId(tenantId, filter) };
    if (
      filter.ids !== undefined ||
      filter.traceId !== undefined ||
      filter.referenceExampleIds !== undefined
    ) {
      return this.#readPage(context, { search, end: undefined, from: "runs r" });
    }
    const grams = search.sort === "start" ? listFilterGrams(filter) : [];
    const cursor = grams.length === 0 ? undefined : await this.#blocks.findCursor();
    const narrow = createNarrowCondition(filter);
    const scanLimit = chooseScanLimit(search, {
      hasTexts: cursor !== undefined,
      hasNarrow: narrow !== undefined,
    });
    const end = await this.#findEnd(tenantId, { ...search, scanLimit });
    const scanned = await this.#readPage(context, { search, end, from: "runs r" });
    const left = search.limit - scanned.runs.length;
    if (left === 0 || scanned.nextPosition === undefined) {
      return scanned;
    }
    const further: RunSearch = { ...search, after: scanned.nextPosition, limit: left };
    const found =
      cursor === undefined
        ? narrow && (await this.#searchNarrow(context, further, narrow))
        : await this.#searchTexts(context, further, { grams, cursor });
    return found === undefined ? scanned : { ...found, runs: [...scanned.runs, ...found.runs] };
  }

  /** Reads the runs of blocks that have the texts of a filter. */
  async #searchTexts(
    context: SearchContext,
    search: RunSearch,
    texts: Parameters<TextBlocks["find"]>[2],
  ): Promise<SearchSlice<StoredRun>> {
    const { places, end } = await this.#blocks.find(context.tenantId, search, texts);
    return this.#readPage(context, {
      search,
      end,
      // OFFSET 0 keeps the two queries apart, so that each run is found by its place.
      from: sql`(${places} OFFSET 0) c CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.place = c.place OFFSET 0) r`,
    });
  }

  /**
   * Reads the runs that an index finds, and evaluates the filter in the order of the list, until the page is full.
   * `undefined` if there are so many of them that scanning the list is better.
   */
  async #searchNarrow(
    context: SearchContext,
    search: RunSearch,
    narrow: Sql,
  ): Promise<SearchSlice<StoredRun> | undefined> {
    const { tenantId } = context;
    const condition = sql`r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(search.projectId)}
      AND ${createRangeCondition(search)} AND ${narrow}`;
    const partitions = await listRunPartitions(this.#db);
    const found = joinWith(
      partitions.map(
        (name) =>
          sql`SELECT r.root_us, r.trace_id, r.id, ${toSortKey(search)} AS micros FROM ${name} r WHERE ${condition}`,
      ),
      " UNION ALL ",
    );
    const counted = toNumbered(
      sql`SELECT count(*) AS found FROM (SELECT FROM (${found}) u LIMIT ${parameter(maxNarrowRuns + 1)}) f`,
    );
    const direction = search.order === "asc" ? "ASC" : "DESC";
    const orderSql = `k.micros ${direction}, k.id ${direction}`;
    // PostgreSQL has no statistics of latencies, and would assume that a third of all runs is found.
    await this.#db.execute("SET LOCAL enable_seqscan = off");
    const { rows } = await this.#db.execute<{ readonly found: number }>(
      counted.text,
      counted.values,
    );
    const page =
      (rows[0]?.found ?? 0) > maxNarrowRuns
        ? undefined
        : await this.#readPage(context, {
            search,
            end: undefined,
            from: sql`(WITH found AS MATERIALIZED (${found}) SELECT * FROM found k ORDER BY ${orderSql} OFFSET 0) k
              CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.tenant_id = ${parameter(tenantId)} AND r.trace_id = k.trace_id
                AND r.id = k.id AND r.root_us = k.root_us OFFSET 0) r`,
            orderSql,
          });
    await this.#db.execute("SET LOCAL enable_seqscan = on");
    return page;
  }

  /** Reads the first runs of a table or subquery `r` that match the filter, up to a position. */
  async #readPage(
    { tenantId, filter }: SearchContext,
    { search, end, from, orderSql = createOrderSql(search) }: ReadPage,
  ): Promise<SearchSlice<StoredRun>> {
    const found = await this.#runs.readFound(
      sql`SELECT ${runColumnsSql} FROM ${from} WHERE ${toCondition(tenantId, filter)} AND ${createRangeCondition(search)}
        AND ${createEndCondition(search, end)} ORDER BY ${orderSql} LIMIT ${parameter(search.limit + 1)}`,
      createOrderSql(search).replaceAll("r.", "f."),
    );
    const page = found.slice(0, search.limit);
    const runs = await this.#runs.readDetails(page, search.parts);
    const last = found.length > search.limit ? toPosition(search, page.at(-1)) : end;
    return last === undefined ? { runs } : { runs, nextPosition: last };
  }

  /** Finds the last run that a step scans; `undefined` if the list has fewer runs. */
  async #findEnd(tenantId: string, search: RunSearch): Promise<ListPosition | undefined> {
    const { text, values } = toNumbered(
      sql`SELECT ${toSortKey(search)} AS micros, r.id FROM runs r
        WHERE r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(search.projectId)}
          AND ${createIndexCondition(search)} AND ${createRangeCondition(search)}
        ORDER BY ${createOrderSql(search)} OFFSET ${parameter(search.scanLimit - 1)} LIMIT 1`,
    );
    const { rows } = await this.#db.execute<ListPosition>(text, values);
    return rows[0];
  }

  async countFacets(tenantId: string, search: RunSearch): Promise<FacetSlice> {
    const { runs, ...position } = await this.search(tenantId, { ...search, parts: facetParts });
    if (search.filter.isRoot !== true) {
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
   * Reads the models of traces, by the id of the root, in the order of the roots. Traces may be large, so it stops after
   * `traceModelsMs`; it reads at least {@link rootsAtOnce}.
   */
  async #readTraceModels(
    tenantId: string,
    roots: readonly StoredRun[],
  ): Promise<ReadonlyMap<string, readonly unknown[]>> {
    const endMs = performance.now() + traceModelsMs;
    const models = new Map<string, readonly unknown[]>();
    for (let start = 0; start < roots.length; start += rootsAtOnce) {
      const part = roots.slice(start, start + rootsAtOnce).map(({ row }) => row);
      const { rows } = await this.#db.query<{
        readonly id: string;
        readonly models: string | null;
      }>(
        `SELECT r.id, ${traceModelsSql}::text AS models
         FROM unnest($2::text[], $3::text[]) i (trace_id, id)
         JOIN runs r ON r.tenant_id = $1 AND r.trace_id = i.trace_id AND r.id = i.id`,
        [tenantId, part.map(({ traceId }) => traceId), part.map(({ id }) => id)],
      );
      const found = new Map(rows.map(({ id, models: json }) => [id, parseModels(json)]));
      part.forEach(({ id }) => models.set(id, found.get(id) ?? []));
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
    const counts = new Map<number, RunCount>();
    for (const { row } of runs) {
      const startMicros = Math.floor(row.startMicros / widthMicros) * widthMicros;
      const count = counts.get(startMicros);
      counts.set(startMicros, {
        startMicros,
        runs: (count?.runs ?? 0) + 1,
        errors: (count?.errors ?? 0) + Number(row.hasError),
      });
    }
    return { counts: [...counts.values()], ...position };
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

  /** Counts by an index of the project's runs. There is no table of counts, which each batch would have to lock. */
  async countRuns(tenantId: string, query: CountQuery): Promise<readonly RunCount[]> {
    const { projectId, isRoot, fromMicros, toMicros, widthMicros } = query;
    const width = Math.max(1, Math.round(widthMicros / countIntervalMicros)) * countIntervalMicros;
    const from = Math.floor(fromMicros / countIntervalMicros) * countIntervalMicros;
    const to = (Math.floor(toMicros / countIntervalMicros) + 1) * countIntervalMicros;
    const rootCondition =
      isRoot === undefined ? "" : `AND parent_run_id IS ${isRoot ? "" : "NOT "}NULL`;
    const { rows } = await this.#db.query<{
      readonly interval: number;
      readonly runs: number;
      readonly errors: number;
    }>(
      `SELECT floor(start_us::numeric / $5::bigint)::bigint AS interval, count(*) AS runs, sum(has_error) AS errors FROM runs
       WHERE tenant_id = $1 AND project_id = $2 AND start_us >= $3::bigint AND start_us < $4::bigint ${rootCondition}
       GROUP BY 1 ORDER BY 1`,
      [tenantId, projectId, from, to, width],
    );
    return rows.map(({ interval, runs, errors }) => ({
      startMicros: interval * width,
      runs,
      errors,
    }));
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

interface SearchContext {
  readonly tenantId: string;
  readonly filter: RunFilter;
}

interface ReadPage {
  readonly search: RunSearch;
  /** The last run that is read. */
  readonly end: ListPosition | undefined;
  /** What is read: `runs r`, or a subquery with the columns of runs. */
  readonly from: Sql | string;
  /** The order of the list, by columns in which what is read is sorted already. */
  readonly orderSql?: string;
}

/** Runs that a step scans before it uses an index: few if their texts are read, more if only their columns are. */
const scannedBeforeTexts = 500;
const scannedBeforeIndex = 10_000;

/** With more runs than these, an index does not help: each of them would be sorted. */
const maxNarrowRuns = 50_000;

function chooseScanLimit(
  { scanLimit }: RunSearch,
  { hasTexts, hasNarrow }: { readonly hasTexts: boolean; readonly hasNarrow: boolean },
): number {
  if (hasTexts) {
    return Math.min(scanLimit, scannedBeforeTexts);
  }
  return hasNarrow ? Math.max(scanLimit, scannedBeforeIndex) : scanLimit;
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

const toSortKey = ({ sort }: RunSearch): string =>
  sort === "latency" ? "(r.end_us - r.start_us)" : "r.start_us";

const createOrderSql = (search: RunSearch): string =>
  search.order === "asc"
    ? `${toSortKey(search)} ASC, r.id ASC`
    : `${toSortKey(search)} DESC, r.id DESC`;

/** The condition on the runs of the index that contains the runs in the order of the list. */
function createIndexCondition({ sort, filter }: RunSearch): Sql {
  if (sort === "latency") {
    return { sql: "r.end_us IS NOT NULL", values: [] };
  }
  if (filter.hasError === true) {
    return { sql: "r.has_error = 1", values: [] };
  }
  return filter.isRoot === true ? { sql: "r.parent_run_id IS NULL", values: [] } : always;
}

/** The condition for the runs after a position and within the requested times. */
function createRangeCondition(search: RunSearch): Sql {
  const { after, order, sort, filter } = search;
  const key = toSortKey(search);
  const conditions: Sql[] = [createIndexCondition(search)];
  if (sort === "start" && filter.earliestStartMicros !== undefined) {
    conditions.push(sql`${key} >= ${parameter(filter.earliestStartMicros)}`);
  }
  if (sort === "start" && filter.latestStartMicros !== undefined) {
    conditions.push(sql`${key} <= ${parameter(filter.latestStartMicros)}`);
  }
  if (after !== undefined) {
    conditions.push(
      sql`(${key}, r.id) ${order === "asc" ? ">" : "<"} (${parameter(after.micros)}, ${parameter(after.id)})`,
    );
  }
  return {
    sql: conditions.map((condition) => condition.sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The condition for the runs up to a position, including it. */
const createEndCondition = (search: RunSearch, end: ListPosition | undefined): Sql =>
  end === undefined
    ? always
    : sql`(${toSortKey(search)}, r.id) ${search.order === "asc" ? "<=" : ">="} (${parameter(end.micros)}, ${parameter(end.id)})`;

const joinWith = (parts: readonly Sql[], separator: string): Sql => ({
  sql: parts.map((part) => part.sql).join(separator),
  values: parts.flatMap(({ values }) => values),
});

const toPosition = ({ sort }: RunSearch, run: FoundRun | undefined): ListPosition | undefined =>
  run && {
    micros:
      sort === "latency" ? (run.row.endMicros ?? 0) - run.row.startMicros : run.row.startMicros,
    id: run.row.id,
  };
