import { sql } from "kysely";
import { createQueryBuilder, Query } from "../../storage/query.ts";
import type { Parameters } from "../../storage/query.ts";

/**
 * Rules are stored as settings with the keys `retention/{tenant id}` and `retention/{tenant id}/{project id}`. The
 * value is a number of days, or empty if runs never expire.
 */
interface RetentionTables {
  readonly settings: { readonly key: string; readonly value: string };
  /** The columns of `projects` that these queries use. */
  readonly projects: { readonly id: string; readonly tenant_id: string };
}

const builder = createQueryBuilder<RetentionTables>();

export const retentionQueries = {
  list: new Query(({ from, to }: Parameters<{ from: string; to: string }>) =>
    builder
      .selectFrom("settings")
      .selectAll()
      .where("key", ">=", from)
      .where("key", "<", to)
      .orderBy("key"),
  ),
  findAnyRule: new Query(() =>
    builder
      .selectFrom("settings")
      .select("key")
      // '0' follows '/' in ASCII, so this is the end of all keys that begin with "retention/".
      .where("key", ">=", sql.lit("retention/"))
      .where("key", "<", sql.lit("retention0"))
      .where("value", "<>", sql.lit(""))
      .limit(sql.lit(1)),
  ),
  set: new Query((row: Parameters<RetentionTables["settings"]>) =>
    builder
      .insertInto("settings")
      .values({ key: row.key, value: row.value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: row.value })),
  ),
  clear: new Query(({ key }: Parameters<{ key: string }>) =>
    builder.deleteFrom("settings").where("key", "=", key),
  ),
  findProject: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    builder
      .selectFrom("projects")
      .select("id")
      .where("id", "=", id)
      .where("tenant_id", "=", tenantId),
  ),
  listProjects: new Query(({ from, limit }: Parameters<{ from: string; limit: number }>) =>
    builder
      .selectFrom("projects")
      .select(["id", "tenant_id"])
      .where("id", ">=", from)
      .orderBy("id")
      .limit(limit),
  ),
};
