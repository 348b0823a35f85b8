import { sql } from "kysely";
import type { Expression } from "kysely";
import { isInList, withoutIndex } from "../storage/dialect.ts";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import { idLength } from "../storage/row-keys.ts";

interface TraceShareTable {
  readonly digest: string;
  readonly sealed: string;
  readonly trace_id: string;
  readonly id: string;
}

interface ThreadShareTable {
  readonly digest: string;
  readonly sealed: string;
  readonly project_id: string;
  readonly thread_json: string;
}

interface ShareTables {
  readonly trace_shares: TraceShareTable;
  readonly thread_shares: ThreadShareTable;
  /** Shares of single runs, which `runs.share` creates. */
  readonly shares: TraceShareTable;
  /** The columns of other tables that the queries for shares use. */
  readonly projects: { readonly id: string; readonly tenant_id: string };
  readonly runs: {
    readonly id: string;
    readonly project_id: string;
    readonly trace_id: string;
    readonly parent_run_id: string | null;
  };
}

const builder = createQueryBuilder<ShareTables>();

/** SQL that reads the id of a row from its key, which begins with the id. `idOf` does the same in TypeScript. */
const selectId = (key: Expression<string>): Expression<string> =>
  sql`substr(${key}, 1, ${sql.lit(idLength)})`;

/**
 * Selects the run `r` of a share `s` of a whole trace, if the run is still the root of a trace. A run that was later
 * moved below another run is part of that run's trace, to which the token must not give access.
 */
const selectFromTraceShares = () =>
  builder
    .selectFrom("trace_shares as s")
    .innerJoin("runs as r", (join) =>
      join
        .onRef("r.trace_id", "=", "s.trace_id")
        .onRef("r.id", "=", "s.id")
        .on("r.parent_run_id", "is", null)
        .on((eb) => eb("r.trace_id", "=", selectId(eb.ref("r.id")))),
    )
    .innerJoin("projects as p", "p.id", "r.project_id");

const nullThreadColumn = sql<string | null>`NULL`.as("thread_json");

type ShareKind = "run" | "trace" | "thread";
type TraceKey = { readonly traceId: string; readonly id: string };
type ThreadKey = { readonly projectId: string; readonly threadJson: string };

export const shareQueries = {
  find: new Query(({ digest }: Parameters<{ digest: string }>) =>
    builder
      .selectFrom("shares as s")
      .innerJoin("runs as r", (join) =>
        join.onRef("r.trace_id", "=", "s.trace_id").onRef("r.id", "=", "s.id"),
      )
      .innerJoin("projects as p", "p.id", "r.project_id")
      .select([sql<ShareKind>`'run'`.as("kind"), "p.tenant_id", "r.id", nullThreadColumn])
      .where("s.digest", "=", digest)
      .unionAll(
        selectFromTraceShares()
          .select([
            sql<ShareKind>`'trace'`.as("kind"),
            "p.tenant_id",
            "r.trace_id as id",
            nullThreadColumn,
          ])
          .where("s.digest", "=", digest),
      )
      .unionAll(
        builder
          .selectFrom("thread_shares as s")
          .innerJoin("projects as p", "p.id", "s.project_id")
          .select([sql<ShareKind>`'thread'`.as("kind"), "p.tenant_id", "p.id", "s.thread_json"])
          .where("s.digest", "=", digest),
      ),
  ),
  // A tenant has many runs but few shares, so the query begins with the shares, which an index finds by trace id.
  // Several tenants may have traces with the same id, so the row keys of the root runs are compared, too.
  listTraces: new Query(
    ({
      tenantId,
      traceIds: traceIdsJson,
      ids: rootKeysJson,
    }: Parameters<{ tenantId: string; traceIds: string; ids: string }>) =>
      selectFromTraceShares()
        .select(["s.id", "s.sealed"])
        .where((eb) => eb(withoutIndex(eb.ref("p.tenant_id")), "=", tenantId))
        .where((eb) => isInList(eb.ref("s.trace_id"), traceIdsJson))
        .where((eb) => isInList(withoutIndex(eb.ref("s.id")), rootKeysJson)),
  ),
  findRoot: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    builder
      .selectFrom("runs as r")
      .innerJoin("projects as p", "p.id", "r.project_id")
      .select(["r.trace_id", "r.id"])
      .where("r.id", "=", id)
      .where("r.parent_run_id", "is", null)
      .where((eb) => eb("r.trace_id", "=", selectId(eb.ref("r.id"))))
      .where("p.tenant_id", "=", tenantId),
  ),
  findTrace: new Query(({ traceId, id }: Parameters<TraceKey>) =>
    builder
      .selectFrom("trace_shares")
      .select("sealed")
      .where("trace_id", "=", traceId)
      .where("id", "=", id),
  ),
  insertTrace: new Query((row: Parameters<TraceShareTable>) =>
    builder.insertInto("trace_shares").values({
      digest: row.digest,
      sealed: row.sealed,
      trace_id: row.trace_id,
      id: row.id,
    }),
  ),
  deleteTrace: new Query(({ traceId, id }: Parameters<TraceKey>) =>
    builder.deleteFrom("trace_shares").where("trace_id", "=", traceId).where("id", "=", id),
  ),
  findThread: new Query(({ projectId, threadJson }: Parameters<ThreadKey>) =>
    builder
      .selectFrom("thread_shares")
      .select("sealed")
      .where("project_id", "=", projectId)
      .where("thread_json", "=", threadJson),
  ),
  insertThread: new Query((row: Parameters<ThreadShareTable>) =>
    builder.insertInto("thread_shares").values({
      digest: row.digest,
      sealed: row.sealed,
      project_id: row.project_id,
      thread_json: row.thread_json,
    }),
  ),
  deleteThread: new Query(({ projectId, threadJson }: Parameters<ThreadKey>) =>
    builder
      .deleteFrom("thread_shares")
      .where("project_id", "=", projectId)
      .where("thread_json", "=", threadJson),
  ),
};
