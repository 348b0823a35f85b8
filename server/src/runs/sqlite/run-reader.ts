import { mimeTypeOf } from "../../bodies/part-head.ts";
import type {
  RunFilter,
  RunPage,
  RunPosition,
  RunQuery,
  RunReads,
  RunStatistics,
} from "../run-query.ts";
import type { RunFile, StoredRun } from "../run-row.ts";
import { narrow } from "./index-lookups/narrow.ts";
import { RunDetailsReader } from "./run-details-reader.ts";
import { damagedBodies, toBuffer } from "./payload-reader.ts";
import { failDamaged, isSound } from "../../storage/sqlite/checksum.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { findInOrder } from "./run-order.ts";
import { shapeOf } from "./run-shape.ts";
import type { RunShape } from "./run-shape.ts";
import { toConditions, toConditionsWithin } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import { readStatistics } from "./run-statistics.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { hasTextIndex } from "./text-index/text-index.ts";
import type { TenantKeys } from "../../storage/sqlite/tenant-keys.ts";
import { rootOfShare } from "../../shares/share-reader.ts";
import { digestToken } from "../../storage/sqlite/token-keys.ts";
import { textLookupsFor } from "./index-lookups/text-lookups.ts";
import { isOfOneTrace, TraceOrder } from "./trace-order.ts";
import type { TraceRows } from "./trace-order.ts";

/** A run with all that is read of it, and whose it is. */
const whole = shapeOf();

const selectRuns = ({ columns, joins }: RunShape, condition: string): string =>
  `SELECT ${columns} FROM runs r ${joins} WHERE ${condition}`;

function selectPage(shape: RunShape, condition: string, { order }: RunQuery): string {
  const direction = order === "asc" ? "ASC" : "DESC";
  return `${selectRuns(shape, condition)} ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?`;
}

/** What a filter comes to. */
interface Served {
  readonly conditions: Conditions;
  /** Of the tenant's projects those that are meant. */
  readonly projectIds: readonly string[];
  /** Whether an index leads to the runs, whatever project they are in. */
  readonly isNarrow: boolean;
}

/** Answers questions from a connection that can't write. */
export class RunReader implements RunReads {
  readonly #db: Connection;
  readonly #keys: TenantKeys;
  readonly #hasTextIndex: boolean;
  readonly #beside: RunDetailsReader;
  readonly #traceOrder: TraceOrder;
  readonly #statements;

  constructor(db: Connection, keys: TenantKeys) {
    this.#db = db;
    this.#keys = keys;
    this.#hasTextIndex = hasTextIndex(db);
    this.#beside = new RunDetailsReader(db);
    this.#traceOrder = new TraceOrder(db);
    this.#statements = {
      find: db.prepare(selectRuns(whole, "r.id = ? AND p.tenant_id = ?")).raw(),
      readRow: db.prepare(selectRuns(whole, "r.rowid = ?")).raw(),
      findShared: db.prepare(selectRuns(whole, "s.digest = ?")).raw(),
      findSharedRoot: db
        .prepare(
          selectRuns(whole, `r.rowid = (SELECT r.rowid FROM ${rootOfShare} WHERE s.digest = ?)`),
        )
        .raw(),
      findFile: db
        .prepare(
          "SELECT content_type, bytes, checksum FROM attachments WHERE trace_id = ? AND id = ? AND name = ?",
        )
        .raw(),
      listProjects: db.prepare("SELECT id FROM projects WHERE tenant_id = ?").raw(),
    };
  }

  find(tenantId: string, id: string): StoredRun | undefined {
    return this.#readOne(this.#statements.find.all([id, tenantId]));
  }

  findShared(token: string): StoredRun | undefined {
    const digest = [digestToken(token)];
    const run = this.#readOne(this.#statements.findShared.all(digest));
    const root = run ?? this.#readOne(this.#statements.findSharedRoot.all(digest));
    // Whoever holds the token of the trace must not learn the one of its root, which may outlive it.
    return run === undefined && root !== undefined ? { ...root, shareToken: null } : root;
  }

  #readOne(found: readonly unknown[]): StoredRun | undefined {
    const runs = parseRows(found).map(whole.toRun);
    const [run] = this.#beside.complete(runs, { withChildren: true });
    return run?.bodies === damagedBodies ? failDamaged(`run ${run.row.id}`) : run;
  }

  findFile(
    _tenantId: string,
    { traceId, runId, name }: RunFile,
  ): { mimeType: string; bytes: Uint8Array } | undefined {
    const [values] = parseRows(this.#statements.findFile.all([traceId, runId, name]));
    if (values === undefined) {
      return undefined;
    }
    const [type, bytes] = [String(values[0]), toBuffer(values[1])];
    return isSound(values[2], bytes, runId, name, type)
      ? { mimeType: mimeTypeOf(type), bytes }
      : failDamaged(`attachment ${name} of run ${runId}`);
  }

  /** Runs by their rows, in this order, alone. */
  readRows(rows: readonly number[]): readonly StoredRun[] {
    const found = rows.flatMap((row) => parseRows(this.#statements.readRow.all([row])));
    return this.#beside.complete(found.map(whole.toRun), { withChildren: false });
  }

  query(tenantId: string, query: RunQuery): RunPage {
    const { limit } = query;
    const shape = shapeOf(toParts(query));
    const ordered = this.#orderedRows(tenantId, query);
    const found =
      (ordered && this.#selectRows(shape, ordered.rows)) ??
      this.#select(shape, this.#pageConditions(tenantId, query), query);
    const runs = this.#beside.complete(found.slice(0, limit).map(shape.toRun), query);
    const last = found.length > runs.length ? runs.at(-1)?.row : undefined;
    if (last === undefined) {
      return { runs };
    }
    const next = { startMicros: last.startMicros, id: last.id };
    ordered?.endAt(next, runs.length);
    return { runs, next };
  }

  #select(shape: RunShape, { sql, values }: Conditions, query: RunQuery): (readonly unknown[])[] {
    const rows = this.#db
      .prepare(selectPage(shape, sql, query))
      .raw()
      .all([...values, query.limit + 1]);
    return parseRows(rows);
  }

  /**
   * As one text, as {@link TraceOrder} reads its rows: handing each value over takes longer. `undefined`
   * where a run has gone since its place was noted.
   */
  #selectRows(
    { columns, joins }: RunShape,
    rows: readonly number[],
  ): readonly (readonly unknown[])[] | undefined {
    const [[json] = []] = parseRows(
      this.#db
        .prepare(
          `SELECT json_group_array(json_array(${columns}))
           FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value ${joins}`,
        )
        .raw()
        .all([JSON.stringify(rows)]),
    );
    const found = JSON.parse(String(json)) as (readonly unknown[])[];
    return rows.every((row, index) => found[index]?.[0] === row) ? found : undefined;
  }

  /** The rows of a page of one trace, where they are known without looking at all of it. */
  #orderedRows(tenantId: string, { filter, ...page }: RunQuery): TraceRows | undefined {
    return isOfOneTrace(filter)
      ? this.#traceOrder.page({
          ...page,
          tenantId,
          filter,
          conditions: toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex }),
        })
      : undefined;
  }

  statistics(tenantId: string, filter: RunFilter): RunStatistics {
    return readStatistics(this.#db, this.#conditions(tenantId, filter).conditions);
  }

  /** The conditions on the runs of a page; those of several projects are found first. */
  #pageConditions(tenantId: string, { filter, order, limit, after }: RunQuery): Conditions {
    const position = after === undefined ? undefined : { ...after, order };
    const { projectIds, isNarrow, conditions } = this.#conditions(tenantId, filter, position);
    if (isNarrow || projectIds.length < 2) {
      return conditions;
    }
    const { projectIds: _ids, ...rest } = filter;
    const rows = findInOrder(this.#db, {
      projectIds,
      conditions: toConditionsWithin(tenantId, rest, {
        after: position,
        hasTextIndex: this.#hasTextIndex,
      }),
      order,
      limit: limit + 1,
    });
    return amongRows(rows);
  }

  /** The conditions of a filter, put so that an index serves them where one can. */
  #conditions(
    tenantId: string,
    filter: RunFilter,
    after?: RunPosition & { order: "asc" | "desc" },
  ): Served {
    const own = new Set(
      parseRows(this.#statements.listProjects.all([tenantId])).map(([id]) => String(id)),
    );
    const projectIds =
      filter.projectIds === undefined
        ? [...own]
        : [...new Set(filter.projectIds)].filter((id) => own.has(id));
    const placed = this.#withTrace(tenantId, filter);
    // One project's runs lie in the order of their starts.
    const served = own.size === 1 ? { ...placed, projectIds } : placed;
    const all = toConditions(tenantId, served, { after, hasTextIndex: this.#hasTextIndex });
    const isFound =
      filter.ids !== undefined ||
      placed.traceId !== undefined ||
      filter.referenceExampleIds !== undefined;
    const asked = {
      filters: filter.runFilters ?? [],
      textLeads: this.#hasTextIndex ? textLookupsFor(filter) : [],
    };
    const few = isFound ? undefined : narrow(this.#db, projectIds, asked);
    return {
      projectIds,
      isNarrow: isFound || few !== undefined,
      conditions:
        few === undefined
          ? all
          : { sql: `${few.sql} AND ${all.sql}`, values: [...few.values, ...all.values] },
    };
  }

  /** Children lie in their parent's trace, which is the key: with it the table is not searched whole. */
  #withTrace(tenantId: string, filter: RunFilter): RunFilter {
    if (filter.parentRunId === undefined || filter.traceId !== undefined) {
      return filter;
    }
    const key = this.#keys.keyOf("run", tenantId, filter.parentRunId);
    const [parent] = parseRows(this.#statements.find.all([key, tenantId]));
    return parent === undefined ? filter : { ...filter, traceId: whole.toRun(parent).row.traceId };
  }
}

const amongRows = (rows: readonly number[]): Conditions => ({
  sql: "r.rowid IN (SELECT value FROM json_each(?))",
  values: [JSON.stringify(rows)],
});

/** Those of a run's descendants are found by its place. */
const toParts = ({ parts, withChildren }: RunQuery): RunQuery["parts"] =>
  parts !== undefined && withChildren
    ? new Set([...parts, "traceId", "dottedOrder", "tenantId"] as const)
    : parts;
