import { columnsOf, createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import type { AlertEventRow, AlertRow } from "./alert-tables.ts";

const builder = createQueryBuilder<{
  readonly alerts: AlertRow;
  readonly alert_events: AlertEventRow;
}>();

/** Identifies an alert of a tenant. */
interface Key {
  readonly tenantId: string;
  readonly id: string;
}

const updatedColumns = [
  "name_json",
  "draft_json",
  "is_enabled",
  "state",
  "is_firing",
  "streak",
  "value",
  "evaluated_us",
  "changed_us",
  "problem_json",
] as const satisfies readonly (keyof AlertRow)[];

/** The queries of alerts and of their events, which are the changes of their states. */
export const alertQueries = {
  list: new Query(
    ({
      tenantId,
      projectId,
      limit,
    }: Parameters<{
      readonly tenantId: string;
      readonly projectId: string;
      readonly limit: number;
    }>) =>
      builder
        .selectFrom("alerts")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("project_id", "=", projectId)
        .orderBy("name_json")
        .orderBy("id")
        .limit(limit),
  ),
  listActive: new Query((_none: Parameters<object>) =>
    builder.selectFrom("alerts").selectAll().where("is_enabled", "=", 1),
  ),
  find: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.selectFrom("alerts").selectAll().where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  insert: new Query((row: Parameters<AlertRow>) =>
    builder
      .insertInto("alerts")
      .values(columnsOf(row, ["tenant_id", "id", "project_id", "created_us", ...updatedColumns])),
  ),
  update: new Query((row: Parameters<AlertRow>) =>
    builder
      .updateTable("alerts")
      .set(columnsOf(row, updatedColumns))
      .where("tenant_id", "=", row.tenant_id)
      .where("id", "=", row.id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.deleteFrom("alerts").where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  addEvent: new Query((row: Parameters<AlertEventRow>) =>
    builder
      .insertInto("alert_events")
      .values(columnsOf(row, ["tenant_id", "alert_id", "at_us", "state", "value"]))
      .onConflict((conflict) => conflict.columns(["tenant_id", "alert_id", "at_us"]).doNothing()),
  ),
  listEvents: new Query(({ tenantId, id, limit }: Parameters<Key & { readonly limit: number }>) =>
    builder
      .selectFrom("alert_events")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("alert_id", "=", id)
      .orderBy("at_us", "desc")
      .limit(limit),
  ),
  deleteEvents: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.deleteFrom("alert_events").where("tenant_id", "=", tenantId).where("alert_id", "=", id),
  ),
  /** Deletes all events of an alert except the latest `kept` ones. */
  pruneEvents: new Query(({ tenantId, id, kept }: Parameters<Key & { readonly kept: number }>) =>
    builder
      .deleteFrom("alert_events")
      .where("tenant_id", "=", tenantId)
      .where("alert_id", "=", id)
      .where("at_us", "<=", (eb) =>
        eb
          .selectFrom("alert_events as kept")
          .select("kept.at_us")
          .where("kept.tenant_id", "=", tenantId)
          .where("kept.alert_id", "=", id)
          .orderBy("kept.at_us", "desc")
          .limit(1)
          .offset(kept),
      ),
  ),
};
