import { always, joinSql, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { ListPosition, RunSearch, SearchSlice } from "../run-list.ts";
import type { RunFilter } from "../run-query.ts";
import {
  findRequiredFeedback,
  findRequiredStatus,
} from "../sqlite/index-lookups/required-ranges.ts";
import { listPartitionNames } from "./partitions.ts";
import { parameter, toCondition, toNumbered } from "./run-conditions.ts";
import { createFeedbackQuery, createNarrowCondition, listFilterGrams } from "./run-narrowing.ts";
import { runColumnsSql } from "./run-shape.ts";
import type { FoundRun } from "./run-shape.ts";
import { TextBlocks } from "./text-index/text-blocks.ts";

/** The part of the reader of runs that the search uses. */
export interface FoundRunReads {
  /** Adds the trace id to a filter for the children of a run. */
  addTraceId(tenantId: string, filter: RunFilter): Promise<RunFilter>;
  /** Runs a query for the rows of runs. Returns the runs in the given order. */
  readFound(page: Sql, orderSql: string): Promise<readonly FoundRun[]>;
}

/** Finds the runs of one project that match a filter, by the indexes that narrow down the search. */
export class RunFinder {
  readonly #db: PostgresDatabase;
  readonly #runs: FoundRunReads;
  readonly #blocks: TextBlocks;

  constructor(db: PostgresDatabase, runs: FoundRunReads) {
    this.#db = db;
    this.#runs = runs;
    this.#blocks = new TextBlocks(db);
  }

  /**
   * Finds the first runs of a list in at most `maxSteps` steps. If these steps do not fill the page, the result has the
   * position from which the search continues.
   */
  async findFirst(
    tenantId: string,
    search: Omit<RunSearch, "scanLimit">,
  ): Promise<SearchSlice<FoundRun>> {
    const runs: FoundRun[] = [];
    let after = search.after;
    for (let step = 0; step < maxSteps; step += 1) {
      const furtherSearch = {
        ...search,
        ...(after !== undefined && { after }),
        limit: search.limit - runs.length,
        scanLimit: scannedBeforeIndex,
      };
      const slice = await this.search(tenantId, furtherSearch, { isFirst: step === 0 });
      runs.push(...slice.runs);
      after = slice.nextPosition;
      if (after === undefined || runs.length >= search.limit) {
        break;
      }
    }
    return after === undefined ? { runs } : { runs, nextPosition: after };
  }

  /**
   * Performs one step of a search. It first scans some runs in the order of the list, which finds frequent matches at
   * once. If these do not fill the page and an index narrows down the search, it continues with the runs that the index
   * finds.
   *
   * @param options.isFirst - whether this is the first step. Later steps scan only one run before they use the text
   * index.
   */
  async search(
    tenantId: string,
    search: RunSearch,
    { isFirst = true }: { readonly isFirst?: boolean } = {},
  ): Promise<SearchSlice<FoundRun>> {
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
    const narrowCondition = createNarrowCondition(filter);
    const feedbackQuery = createFeedbackQuery(tenantId, filter);
    const scanLimit = chooseScanLimit(search, {
      hasTexts: cursor !== undefined,
      isFirst,
      isNarrow: narrowCondition !== undefined || feedbackQuery !== undefined,
    });
    const end = await this.#findEnd(tenantId, { ...search, scanLimit });
    const scanned = await this.#readPage(context, { search, end, from: "runs r" });
    const missingCount = search.limit - scanned.runs.length;
    if (missingCount === 0 || scanned.nextPosition === undefined) {
      return scanned;
    }
    const further: RunSearch = { ...search, after: scanned.nextPosition, limit: missingCount };
    const found =
      cursor === undefined
        ? ((feedbackQuery && (await this.#searchFeedback(context, further, feedbackQuery))) ??
          (narrowCondition && (await this.#searchNarrow(context, further, narrowCondition))))
        : await this.#searchTexts(context, further, { grams, cursor });
    return found === undefined ? scanned : { ...found, runs: [...scanned.runs, ...found.runs] };
  }

  /** Reads the runs of blocks that have the texts of a filter. */
  async #searchTexts(
    context: SearchContext,
    search: RunSearch,
    texts: Parameters<TextBlocks["find"]>[2],
  ): Promise<SearchSlice<FoundRun>> {
    const { runs, end } = await this.#blocks.find(context.tenantId, search, texts);
    return this.#readPage(context, { search, end, from: sql`(${runs}) r` });
  }

  /**
   * Reads the runs that an index finds, and evaluates the filter in the order of the list, until the page is full.
   * Returns `undefined` if the index finds so many runs that scanning the list is better.
   */
  async #searchNarrow(
    context: SearchContext,
    search: RunSearch,
    narrowCondition: Sql,
  ): Promise<SearchSlice<FoundRun> | undefined> {
    const { tenantId } = context;
    const condition = sql`r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(search.projectId)}
      AND ${createRangeCondition(search)} AND ${narrowCondition}`;
    const partitions = await listPartitionNames(this.#db);
    const found = joinSql(
      partitions.map(
        (name) =>
          sql`SELECT r.root_us, r.trace_id, r.id, ${toSortKey(search)} AS micros FROM ${name} r WHERE ${condition}`,
      ),
      " UNION ALL ",
    );
    // PostgreSQL has no statistics on latencies. It assumes that a third of all runs match, and would scan the table.
    await this.#db.execute("SET LOCAL enable_seqscan = off");
    const isNarrow = await this.#hasAtMost(maxNarrowRuns, found);
    const page = isNarrow ? await this.#readListed(context, search, found) : undefined;
    await this.#db.execute("SET LOCAL enable_seqscan = on");
    return page;
  }

  /**
   * Reads the runs with the feedback that the filter requires, and evaluates the filter. Returns `undefined` if there
   * is so much feedback that scanning the list is better.
   *
   * @param feedbackQuery - a query for the ids of the runs
   */
  async #searchFeedback(
    context: SearchContext,
    search: RunSearch,
    feedbackQuery: Sql,
  ): Promise<SearchSlice<FoundRun> | undefined> {
    if (!(await this.#hasAtMost(maxFeedback, feedbackQuery))) {
      return undefined;
    }
    const { tenantId } = context;
    return this.#readListed(
      context,
      search,
      sql`SELECT r.root_us, r.trace_id, r.id, ${toSortKey(search)} AS micros
          FROM (SELECT DISTINCT id FROM (${feedbackQuery}) f OFFSET 0) f
          JOIN run_keys k ON k.tenant_id = ${parameter(tenantId)} AND k.id = f.id
          CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.tenant_id = ${parameter(tenantId)} AND r.trace_id = k.trace_id
            AND r.id = k.id AND r.root_us = k.root_us OFFSET 0) r
          WHERE r.project_id = ${parameter(search.projectId)} AND ${createRangeCondition(search)}`,
    );
  }

  async #hasAtMost(limit: number, query: Sql): Promise<boolean> {
    const { text, values } = toNumbered(
      sql`SELECT count(*) AS found FROM (SELECT FROM (${query}) u LIMIT ${parameter(limit + 1)}) f`,
    );
    const { rows } = await this.#db.execute<{ readonly found: number }>(text, values);
    return (rows[0]?.found ?? 0) <= limit;
  }

  /**
   * Reads the first of some listed runs that match the filter.
   *
   * @param keys - a query for `root_us`, `trace_id`, `id` and the sort key `micros` of runs
   */
  #readListed(
    context: SearchContext,
    search: RunSearch,
    keys: Sql,
  ): Promise<SearchSlice<FoundRun>> {
    const direction = search.order === "asc" ? "ASC" : "DESC";
    const orderSql = `k.micros ${direction}, k.id ${direction}`;
    return this.#readPage(context, {
      search,
      end: undefined,
      from: sql`(WITH found AS MATERIALIZED (${keys}) SELECT * FROM found k ORDER BY ${orderSql} OFFSET 0) k
        CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.tenant_id = ${parameter(context.tenantId)} AND r.trace_id = k.trace_id
          AND r.id = k.id AND r.root_us = k.root_us OFFSET 0) r`,
      orderSql,
    });
  }

  /** Reads the first runs of a table or subquery `r` that match the filter, up to a position. */
  async #readPage(
    { tenantId, filter }: SearchContext,
    { search, end, from, orderSql = createOrderSql(search) }: PageRequest,
  ): Promise<SearchSlice<FoundRun>> {
    const found = await this.#runs.readFound(
      sql`SELECT ${runColumnsSql} FROM ${from} WHERE ${toCondition(tenantId, filter)} AND ${createRangeCondition(search)}
        AND ${createEndCondition(search, end)} ORDER BY ${orderSql} LIMIT ${parameter(search.limit + 1)}`,
      createOrderSql(search).replaceAll("r.", "f."),
    );
    const runs = found.slice(0, search.limit);
    const last = found.length > search.limit ? toPosition(search, runs.at(-1)) : end;
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
}

interface SearchContext {
  readonly tenantId: string;
  readonly filter: RunFilter;
}

interface PageRequest {
  readonly search: RunSearch;
  /** The position of the last run that is read; `undefined` for the end of the list. */
  readonly end: ListPosition | undefined;
  /** The source of the runs: `runs r`, or a subquery `r` with the same columns. */
  readonly from: Sql | string;
  /**
   * The order of the list, in terms of the columns by which `from` is already sorted. @defaultValue the order by the
   * columns of `r`
   */
  readonly orderSql?: string;
}

/**
 * Whether an index narrows down the search for a filter. Runs of one trace, of examples and with known ids are found by
 * their keys, without such an index.
 */
export const canNarrow = (filter: RunFilter): boolean =>
  filter.ids === undefined &&
  filter.traceId === undefined &&
  filter.referenceExampleIds === undefined &&
  (createNarrowCondition(filter) !== undefined ||
    (filter.runFilters ?? []).some((part) => findRequiredFeedback(part) !== undefined) ||
    listFilterGrams(filter).length > 0);

/**
 * Maximum number of steps of {@link RunFinder.findFirst}. A text that no run contains needs one step, a rare text needs
 * a few.
 */
const maxSteps = 8;

/**
 * Number of runs that a step scans before it uses an index: few for a text, because payloads are read, and more if only
 * columns are read.
 */
const scannedBeforeTexts = 500;
const scannedBeforeIndex = 10_000;

/** If an index finds more runs than this, scanning is better, because all runs that the index finds are sorted. */
const maxNarrowRuns = 50_000;

/**
 * If an index finds more feedback than this, scanning is better, because the run of each feedback row is read by its
 * key.
 */
const maxFeedback = 10_000;

function chooseScanLimit(
  { scanLimit }: RunSearch,
  {
    hasTexts,
    isNarrow,
    isFirst,
  }: { readonly hasTexts: boolean; readonly isNarrow: boolean; readonly isFirst: boolean },
): number {
  if (hasTexts) {
    return isFirst ? Math.min(scanLimit, scannedBeforeTexts) : 1;
  }
  return isNarrow ? Math.max(scanLimit, scannedBeforeIndex) : scanLimit;
}

const toSortKey = ({ sort }: RunSearch): string =>
  sort === "latency" ? "(r.end_us - r.start_us)" : "r.start_us";

const createOrderSql = (search: RunSearch): string =>
  search.order === "asc"
    ? `${toSortKey(search)} ASC, r.id ASC`
    : `${toSortKey(search)} DESC, r.id DESC`;

/** The condition of the partial index that contains the runs in the order of the list. */
function createIndexCondition({ sort, filter }: RunSearch): Sql {
  if (sort === "latency") {
    return { sql: "r.end_us IS NOT NULL", values: [] };
  }
  const statuses = (filter.runFilters ?? []).map(findRequiredStatus);
  if (filter.hasError === true || statuses.includes("error")) {
    return { sql: "r.has_error = 1", values: [] };
  }
  if (statuses.includes("pending")) {
    return { sql: "r.end_us IS NULL AND r.has_error = 0", values: [] };
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
  return joinSql(conditions, " AND ");
}

/** The condition for the runs up to a position, including it. */
const createEndCondition = (search: RunSearch, end: ListPosition | undefined): Sql =>
  end === undefined
    ? always
    : sql`(${toSortKey(search)}, r.id) ${search.order === "asc" ? "<=" : ">="} (${parameter(end.micros)}, ${parameter(end.id)})`;

const toPosition = ({ sort }: RunSearch, run: FoundRun | undefined): ListPosition | undefined =>
  run && {
    micros:
      sort === "latency" ? (run.row.endMicros ?? 0) - run.row.startMicros : run.row.startMicros,
    id: run.row.id,
  };
