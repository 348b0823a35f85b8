import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import type { DeliveryRow, WebhookRow } from "./webhook-tables.ts";

const builder = createQueryBuilder<{
  readonly webhooks: WebhookRow;
  readonly webhook_deliveries: DeliveryRow;
}>();

interface Key {
  readonly tenantId: string;
  readonly id: string;
}

interface WebhookScope {
  readonly tenantId: string;
  readonly webhookId: string;
}

export const webhookQueries = {
  list: new Query(({ tenantId, limit }: Parameters<{ tenantId: string; limit: number }>) =>
    builder
      .selectFrom("webhooks")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .orderBy("name_json")
      .orderBy("id")
      .limit(limit),
  ),
  find: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder
      .selectFrom("webhooks")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  insert: new Query((row: Parameters<WebhookRow>) =>
    builder.insertInto("webhooks").values({
      tenant_id: row.tenant_id,
      id: row.id,
      name_json: row.name_json,
      url: row.url,
      sealed: row.sealed,
      is_enabled: row.is_enabled,
      created_us: row.created_us,
      delivered: row.delivered,
      last_delivered_us: row.last_delivered_us,
      previous_sealed: row.previous_sealed,
      previous_until_us: row.previous_until_us,
    }),
  ),
  updateSecret: new Query(
    (
      row: Parameters<
        Pick<WebhookRow, "tenant_id" | "id" | "sealed" | "previous_sealed" | "previous_until_us">
      >,
    ) =>
      builder
        .updateTable("webhooks")
        .set({
          sealed: row.sealed,
          previous_sealed: row.previous_sealed,
          previous_until_us: row.previous_until_us,
        })
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id),
  ),
  update: new Query(
    (row: Parameters<Pick<WebhookRow, "tenant_id" | "id" | "name_json" | "url" | "is_enabled">>) =>
      builder
        .updateTable("webhooks")
        .set({ name_json: row.name_json, url: row.url, is_enabled: row.is_enabled })
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id),
  ),
  countDelivered: new Query(
    ({ tenantId, id, atMicros }: Parameters<Key & { readonly atMicros: number }>) =>
      builder
        .updateTable("webhooks")
        .set(({ eb }) => ({ delivered: eb("delivered", "+", 1), last_delivered_us: atMicros }))
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.deleteFrom("webhooks").where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  deleteDeliveries: new Query(({ tenantId, webhookId }: Parameters<WebhookScope>) =>
    builder
      .deleteFrom("webhook_deliveries")
      .where("tenant_id", "=", tenantId)
      .where("webhook_id", "=", webhookId),
  ),
  countStates: new Query(({ tenantId }: Parameters<{ tenantId: string }>) =>
    builder
      .selectFrom("webhook_deliveries")
      .select(({ fn }) => ["webhook_id", "state", fn.countAll<number>().as("count")])
      .where("tenant_id", "=", tenantId)
      .where("state", "in", [0, 2])
      .groupBy(["webhook_id", "state"]),
  ),
};

/** The queries of deliveries. A delivery is one message that is to be sent to a webhook. */
export const deliveryQueries = {
  insert: new Query((row: Parameters<DeliveryRow>) =>
    builder
      .insertInto("webhook_deliveries")
      .values({
        tenant_id: row.tenant_id,
        id: row.id,
        webhook_id: row.webhook_id,
        event: row.event,
        body: row.body,
        state: row.state,
        attempts: row.attempts,
        created_us: row.created_us,
        next_us: row.next_us,
        last_us: row.last_us,
        last_status: row.last_status,
        last_error: row.last_error,
      })
      .onConflict((conflict) => conflict.columns(["tenant_id", "id"]).doNothing()),
  ),
  list: new Query(
    ({ tenantId, webhookId, limit }: Parameters<WebhookScope & { readonly limit: number }>) =>
      builder
        .selectFrom("webhook_deliveries")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("webhook_id", "=", webhookId)
        .orderBy("created_us", "desc")
        .orderBy("id")
        .limit(limit),
  ),
  listInState: new Query(
    ({
      tenantId,
      webhookId,
      state,
      limit,
    }: Parameters<WebhookScope & { readonly state: number; readonly limit: number }>) =>
      builder
        .selectFrom("webhook_deliveries")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("webhook_id", "=", webhookId)
        .where("state", "=", state)
        .orderBy("created_us", "desc")
        .orderBy("id")
        .limit(limit),
  ),
  find: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder
      .selectFrom("webhook_deliveries")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  /** Lists the webhooks of all tenants with waiting deliveries, and when the next of these is due. */
  listWaiting: new Query(({ limit }: Parameters<{ readonly limit: number }>) =>
    builder
      .selectFrom("webhook_deliveries as d")
      .innerJoin("webhooks as w", (join) =>
        join.onRef("w.tenant_id", "=", "d.tenant_id").onRef("w.id", "=", "d.webhook_id"),
      )
      .select(({ fn }) => [
        "w.tenant_id",
        "w.id",
        "w.url",
        "w.sealed",
        "w.previous_sealed",
        "w.previous_until_us",
        fn.min<number>("d.next_us").as("next_us"),
      ])
      .where("d.state", "=", 0)
      .where("w.is_enabled", "=", 1)
      .groupBy([
        "w.tenant_id",
        "w.id",
        "w.url",
        "w.sealed",
        "w.previous_sealed",
        "w.previous_until_us",
      ])
      .orderBy("next_us")
      .limit(limit),
  ),
  listDue: new Query(
    ({
      tenantId,
      webhookId,
      nowMicros,
      limit,
    }: Parameters<WebhookScope & { readonly nowMicros: number; readonly limit: number }>) =>
      builder
        .selectFrom("webhook_deliveries")
        .select(["id", "event", "body", "attempts"])
        .where("tenant_id", "=", tenantId)
        .where("webhook_id", "=", webhookId)
        .where("state", "=", 0)
        .where("next_us", "<=", nowMicros)
        .orderBy("next_us")
        .limit(limit),
  ),
  record: new Query(
    (
      row: Parameters<
        Pick<
          DeliveryRow,
          "tenant_id" | "id" | "state" | "next_us" | "last_us" | "last_status" | "last_error"
        >
      >,
    ) =>
      builder
        .updateTable("webhook_deliveries")
        .set(({ eb }) => ({
          attempts: eb("attempts", "+", 1),
          state: row.state,
          next_us: row.next_us,
          last_us: row.last_us,
          last_status: row.last_status,
          last_error: row.last_error,
        }))
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id)
        .where("state", "=", 0),
  ),
  resend: new Query(({ tenantId, id, nowMicros }: Parameters<Key & { nowMicros: number }>) =>
    builder
      .updateTable("webhook_deliveries")
      .set({ state: 0, attempts: 0, next_us: nowMicros })
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id)
      .where("state", "=", 2),
  ),
  /** Deletes all but the latest deliveries of a webhook in a state. */
  prune: new Query(
    ({
      tenantId,
      webhookId,
      state,
      kept,
    }: Parameters<WebhookScope & { readonly state: number; readonly kept: number }>) =>
      builder
        .deleteFrom("webhook_deliveries")
        .where("tenant_id", "=", tenantId)
        .where("webhook_id", "=", webhookId)
        .where("state", "=", state)
        .where("created_us", "<", (eb) =>
          eb
            .selectFrom("webhook_deliveries as kept")
            .select("kept.created_us")
            .where("kept.tenant_id", "=", tenantId)
            .where("kept.webhook_id", "=", webhookId)
            .where("kept.state", "=", state)
            .orderBy("kept.created_us", "desc")
            .limit(1)
            .offset(kept),
        ),
  ),
};
