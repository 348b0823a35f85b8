import { randomUUID } from "node:crypto";
import { createMaximumError, RequestError } from "../model/errors.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import { createWebhookSecret } from "./sign-delivery.ts";
import { deliveryStates, webhookLimits } from "./webhook.ts";
import type {
  AttemptResult,
  Delivery,
  DeliveryContent,
  DeliveryDraft,
  DeliveryQuery,
  DueDelivery,
  Webhook,
  WebhookChanges,
  WebhookDraft,
  WebhookReads,
  WebhookWrites,
} from "./webhook.ts";
import { deliveryQueries, webhookQueries } from "./webhook-queries.ts";
import type { DeliveryRow, WebhookRow } from "./webhook-tables.ts";

interface StateCounts {
  readonly waiting: number;
  readonly dead: number;
}

const waitingState = deliveryStates.indexOf("waiting");
const deliveredState = deliveryStates.indexOf("delivered");
const deadState = deliveryStates.indexOf("dead");

/** Reads and writes webhooks and their deliveries. */
export class WebhookRepository implements WebhookReads, WebhookWrites {
  readonly #db: Database;
  readonly #cipher: TokenCipher;
  readonly #clock: Clock;

  constructor(db: Database, cipher: TokenCipher, clock: Clock = microsNow) {
    this.#db = db;
    this.#cipher = cipher;
    this.#clock = clock;
  }

  async list(tenantId: string): Promise<readonly Webhook[]> {
    const rows = await this.#db.all(webhookQueries.list, {
      tenantId,
      limit: webhookLimits.perTenant,
    });
    const counts = await this.#countStates(tenantId);
    const nowMicros = this.#clock();
    return rows.map((row) => toWebhook(row, nowMicros, counts.get(row.id)));
  }

  async find(tenantId: string, id: string): Promise<Webhook> {
    const row = await this.#findRow(tenantId, id);
    return toWebhook(row, this.#clock(), (await this.#countStates(tenantId)).get(id));
  }

  async listDeliveries(
    tenantId: string,
    { webhookId, state }: DeliveryQuery,
  ): Promise<readonly Delivery[]> {
    await this.#findRow(tenantId, webhookId);
    const values = { tenantId, webhookId, limit: webhookLimits.listed };
    const rows =
      state === undefined
        ? await this.#db.all(deliveryQueries.list, values)
        : await this.#db.all(deliveryQueries.listInState, {
            ...values,
            state: deliveryStates.indexOf(state),
          });
    return rows.map(toDelivery);
  }

  async findDelivery(tenantId: string, id: string): Promise<DeliveryContent> {
    const row = await this.#db.first(deliveryQueries.find, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Delivery not found");
    }
    return { ...toDelivery(row), body: row.body };
  }

  async readTarget(tenantId: string, id: string): Promise<Pick<DueDelivery, "url" | "secrets">> {
    const row = await this.#findRow(tenantId, id);
    return { url: row.url, secrets: this.#decryptSecrets(row, this.#clock()) };
  }

  async listDue(nowMicros: number): ReturnType<WebhookReads["listDue"]> {
    const webhooks = await this.#db.all(deliveryQueries.listWaiting, {
      limit: webhookLimits.webhooksAtOnce + 1,
    });
    const due: DueDelivery[] = [];
    for (const webhook of webhooks.filter(({ next_us }) => next_us <= nowMicros)) {
      const secrets = this.#decryptSecrets(webhook, nowMicros);
      const rows = await this.#db.all(deliveryQueries.listDue, {
        tenantId: webhook.tenant_id,
        webhookId: webhook.id,
        nowMicros,
        limit: webhookLimits.atOnce,
      });
      due.push(
        ...rows.map((row) => ({
          ...row,
          tenantId: webhook.tenant_id,
          webhookId: webhook.id,
          url: webhook.url,
          secrets,
        })),
      );
    }
    const later = webhooks.find(({ next_us }) => next_us > nowMicros);
    return { due, nextMicros: later?.next_us ?? null };
  }

  async create(
    tenantId: string,
    { name, url }: WebhookDraft,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    const limit = webhookLimits.perTenant;
    const existing = await this.#db.all(webhookQueries.list, { tenantId, limit });
    if (existing.length >= limit) {
      throw createMaximumError("tenant", `${limit} webhooks`);
    }
    const id = randomUUID();
    const secret = createWebhookSecret();
    const row: WebhookRow = {
      tenant_id: tenantId,
      id,
      name_json: JSON.stringify(name),
      url,
      sealed: this.#cipher.encrypt(secret, secretOwner(id)),
      is_enabled: 1,
      created_us: this.#clock(),
      delivered: 0,
      last_delivered_us: null,
      previous_sealed: null,
      previous_until_us: null,
    };
    await this.#db.run(webhookQueries.insert, row);
    return { webhook: toWebhook(row, row.created_us), secret };
  }

  async updateSecret(
    tenantId: string,
    id: string,
    overlapMicros: number,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    const { sealed } = await this.#findRow(tenantId, id);
    const secret = createWebhookSecret();
    await this.#db.run(webhookQueries.updateSecret, {
      tenant_id: tenantId,
      id,
      sealed: this.#cipher.encrypt(secret, secretOwner(id)),
      ...(overlapMicros === 0
        ? { previous_sealed: null, previous_until_us: null }
        : { previous_sealed: sealed, previous_until_us: this.#clock() + overlapMicros }),
    });
    return { webhook: await this.find(tenantId, id), secret };
  }

  async update(tenantId: string, id: string, changes: WebhookChanges): Promise<Webhook> {
    const webhook = { ...(await this.find(tenantId, id)), ...changes };
    await this.#db.run(webhookQueries.update, {
      tenant_id: tenantId,
      id,
      name_json: JSON.stringify(webhook.name),
      url: webhook.url,
      is_enabled: Number(webhook.isEnabled),
    });
    return webhook;
  }

  async delete(tenantId: string, id: string): Promise<void> {
    if ((await this.#db.run(webhookQueries.delete, { tenantId, id })) === 0) {
      throw createNotFound();
    }
    await this.#db.run(webhookQueries.deleteDeliveries, { tenantId, webhookId: id });
  }

  async enqueue(tenantId: string, drafts: readonly DeliveryDraft[]): Promise<void> {
    for (const webhookId of new Set(drafts.map((draft) => draft.webhookId))) {
      await this.#findRow(tenantId, webhookId);
    }
    const counts = [...(await this.#countStates(tenantId)).values()];
    let waiting = counts.reduce((sum, count) => sum + count.waiting, 0);
    const pruned = new Set<string>();
    for (const draft of drafts) {
      const nowMicros = this.#clock();
      const body = createBody(draft, nowMicros);
      const refusal = refuse(body, waiting);
      await this.#db.run(deliveryQueries.insert, {
        tenant_id: tenantId,
        id: draft.id,
        webhook_id: draft.webhookId,
        event: draft.event,
        body: refusal === "tooLarge" ? "" : body,
        state: refusal === undefined ? waitingState : deadState,
        attempts: 0,
        created_us: nowMicros,
        next_us: refusal === undefined ? nowMicros : null,
        last_us: null,
        last_status: null,
        last_error: refusal === undefined ? null : refusalTexts[refusal],
      });
      if (refusal === undefined) {
        waiting += 1;
      } else {
        pruned.add(draft.webhookId);
      }
    }
    for (const webhookId of pruned) {
      await this.#prune(tenantId, webhookId, "dead");
    }
  }

  async resend(
    tenantId: string,
    { webhookId, ids }: { readonly webhookId: string; readonly ids?: readonly string[] },
  ): Promise<number> {
    await this.#findRow(tenantId, webhookId);
    const dead = await this.#db.all(deliveryQueries.listInState, {
      tenantId,
      webhookId,
      state: deadState,
      limit: webhookLimits.resent,
    });
    const selected = dead.filter(
      ({ id, body }) => body !== "" && (ids === undefined || ids.includes(id)),
    );
    const nowMicros = this.#clock();
    for (const { id } of selected) {
      await this.#db.run(deliveryQueries.resend, { tenantId, id, nowMicros });
    }
    return selected.length;
  }

  async record(results: readonly AttemptResult[]): Promise<void> {
    for (const { tenantId, id, webhookId, atMicros, status, error, nextMicros } of results) {
      const failedState = nextMicros === null ? deadState : waitingState;
      const changed = await this.#db.run(deliveryQueries.record, {
        tenant_id: tenantId,
        id,
        state: error === null ? deliveredState : failedState,
        next_us: error === null ? null : nextMicros,
        last_us: atMicros,
        last_status: status,
        last_error: error,
      });
      if (error === null && changed > 0) {
        await this.#db.run(webhookQueries.countDelivered, { tenantId, id: webhookId, atMicros });
        await this.#prune(tenantId, webhookId, "delivered");
      } else if (nextMicros === null) {
        await this.#prune(tenantId, webhookId, "dead");
      }
    }
  }

  async #prune(tenantId: string, webhookId: string, state: "delivered" | "dead"): Promise<void> {
    await this.#db.run(deliveryQueries.prune, {
      tenantId,
      webhookId,
      state: deliveryStates.indexOf(state),
      kept: (state === "dead" ? webhookLimits.keptDead : webhookLimits.keptDelivered) - 1,
    });
  }

  async #findRow(tenantId: string, id: string): Promise<WebhookRow> {
    const row = await this.#db.first(webhookQueries.find, { tenantId, id });
    if (row === undefined) {
      throw createNotFound();
    }
    return row;
  }

  /** Returns the secrets that sign deliveries at the given time; `undefined` if the current one can't be decrypted. */
  #decryptSecrets(
    webhook: Pick<WebhookRow, "id" | "sealed" | "previous_sealed" | "previous_until_us">,
    nowMicros: number,
  ): readonly string[] | undefined {
    const { id, sealed, previous_sealed: previousSealed } = webhook;
    const secret = this.#cipher.decrypt(sealed, secretOwner(id));
    const previous =
      previousSealed === null || !isPreviousValid(webhook, nowMicros)
        ? undefined
        : this.#cipher.decrypt(previousSealed, secretOwner(id));
    return secret === undefined
      ? undefined
      : [secret, ...(previous === undefined ? [] : [previous])];
  }

  async #countStates(tenantId: string): Promise<ReadonlyMap<string, StateCounts>> {
    const counts = new Map<string, { waiting: number; dead: number }>();
    for (const row of await this.#db.all(webhookQueries.countStates, { tenantId })) {
      const count = counts.get(row.webhook_id) ?? { waiting: 0, dead: 0 };
      count[row.state === waitingState ? "waiting" : "dead"] = row.count;
      counts.set(row.webhook_id, count);
    }
    return counts;
  }
}

const createNotFound = (): RequestError => new RequestError(404, "Webhook not found");

/** Identifies the row to which an encrypted secret is bound. */
const secretOwner = (id: string): string => `webhook ${id}`;

const createBody = ({ event, data }: DeliveryDraft, nowMicros: number): string =>
  JSON.stringify({ type: event, timestamp: new Date(nowMicros / 1_000).toISOString(), data });

const refuse = (body: string, waiting: number): keyof typeof refusalTexts | undefined => {
  if (Buffer.byteLength(body) > webhookLimits.bodyBytes) {
    return "tooLarge";
  }
  return waiting >= webhookLimits.waiting ? "tooMany" : undefined;
};

const refusalTexts = {
  tooLarge: `Not sent: the body has more than ${webhookLimits.bodyBytes} bytes.`,
  tooMany: `Not sent: ${webhookLimits.waiting} deliveries were already waiting.`,
} as const;

const isPreviousValid = (
  { previous_until_us: untilMicros }: Pick<WebhookRow, "previous_until_us">,
  nowMicros: number,
): boolean => untilMicros !== null && untilMicros > nowMicros;

const toWebhook = (
  row: WebhookRow,
  nowMicros: number,
  counts: StateCounts = { waiting: 0, dead: 0 },
): Webhook => ({
  id: row.id,
  name: JSON.parse(row.name_json) as string,
  url: row.url,
  isEnabled: row.is_enabled === 1,
  createdMicros: row.created_us,
  delivered: row.delivered,
  lastDeliveredMicros: row.last_delivered_us,
  previousSecretUntilMicros: isPreviousValid(row, nowMicros) ? row.previous_until_us : null,
  ...counts,
});

const toDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  event: row.event,
  state: deliveryStates[row.state] ?? "dead",
  attempts: row.attempts,
  createdMicros: row.created_us,
  nextMicros: row.state === waitingState ? row.next_us : null,
  lastMicros: row.last_us,
  lastStatus: row.last_status,
  lastError: row.last_error,
});
