import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import { deliveryQueries, webhookQueries } from "../webhook-queries.ts";
import { WebhookRepository } from "../webhook-repository.ts";
import { webhookLimits } from "../webhook.ts";

const keys = TokenKeys.createRandom();
const url = "https://example.com/hook";

describeRepositories({ webhookQueries, deliveryQueries }, (fixture) => {
  const create = async (nowMicros = 1_000) => {
    const clock = { nowMicros };
    const webhooks = new WebhookRepository(fixture.db, keys, () => clock.nowMicros);
    const { webhook, secret } = await webhooks.create(tenantId, { name: strangeText, url });
    const enqueue = async (data: object = {}): Promise<string> => {
      const id = randomUUID();
      await webhooks.enqueue(tenantId, [{ id, webhookId: webhook.id, event: "test", data }]);
      return id;
    };
    return { webhooks, webhook, secret, enqueue, clock };
  };
  const result = (id: string, webhookId: string) => ({
    tenantId,
    id,
    webhookId,
    atMicros: 5_000,
    status: 200,
    error: null,
    nextMicros: null,
  });

  test("a webhook is created, changed, listed and deleted, by its tenant only", async () => {
    const { webhooks, webhook } = await create();
    expect(await webhooks.list(tenantId)).toEqual([webhook]);
    expect(await webhooks.list(otherId)).toEqual([]);
    const changed = await webhooks.update(tenantId, webhook.id, { isEnabled: false });
    expect(changed).toEqual({ ...webhook, isEnabled: false });
    expect(await webhooks.find(tenantId, webhook.id)).toEqual(changed);
    await expect(webhooks.find(otherId, webhook.id)).rejects.toMatchObject({ status: 404 });
    await expect(webhooks.delete(otherId, webhook.id)).rejects.toMatchObject({ status: 404 });
    await webhooks.delete(tenantId, webhook.id);
    expect(await webhooks.list(tenantId)).toEqual([]);
  });

  test("the secret is stored encrypted, and only for its webhook", async () => {
    const { webhooks, webhook, secret } = await create();
    const row = await fixture.db.first(webhookQueries.find, { tenantId, id: webhook.id });
    expect(JSON.stringify(row)).not.toContain(secret.slice(6));
    expect(await webhooks.readTarget(tenantId, webhook.id)).toEqual({ url, secrets: [secret] });
    const other = new WebhookRepository(fixture.db, TokenKeys.createRandom());
    expect(await other.readTarget(tenantId, webhook.id)).toEqual({ url, secrets: undefined });
  });

  test("after a change of the secret, both are used until the overlap ends, and of several changes the last two", async () => {
    const { webhooks, webhook, secret, enqueue, clock } = await create();
    await enqueue();
    const changed = await webhooks.updateSecret(tenantId, webhook.id, 100);
    expect(changed.webhook).toEqual({
      ...webhook,
      waiting: 1,
      previousSecretUntilMicros: 1_100,
    });
    expect(changed.secret).not.toBe(secret);
    const secretsAt = async (nowMicros: number) =>
      (await webhooks.listDue(nowMicros)).due[0]?.secrets;
    expect(await secretsAt(1_099)).toEqual([changed.secret, secret]);
    expect(await secretsAt(1_100)).toEqual([changed.secret]);
    const row = await fixture.db.first(webhookQueries.find, { tenantId, id: webhook.id });
    expect(JSON.stringify(row)).not.toContain(secret.slice(6));
    const again = await webhooks.updateSecret(tenantId, webhook.id, 100);
    expect(await secretsAt(1_050)).toEqual([again.secret, changed.secret]);
    clock.nowMicros = 1_100;
    expect((await webhooks.find(tenantId, webhook.id)).previousSecretUntilMicros).toBeNull();
    clock.nowMicros = 1_050;
    const last = await webhooks.updateSecret(tenantId, webhook.id, 0);
    expect((await webhooks.readTarget(tenantId, webhook.id)).secrets).toEqual([last.secret]);
    await expect(webhooks.updateSecret(otherId, webhook.id, 0)).rejects.toMatchObject({
      status: 404,
    });
  });

  test("a delivery waits until it is received, and is due at its time", async () => {
    const { webhooks, webhook, secret, enqueue } = await create();
    const id = await enqueue({ text: strangeText });
    expect(await webhooks.listDue(999)).toEqual({ due: [], nextMicros: 1_000 });
    const { due } = await webhooks.listDue(1_000);
    expect(due).toMatchObject([
      { id, tenantId, webhookId: webhook.id, url, secrets: [secret], attempts: 0 },
    ]);
    expect(JSON.parse(due[0]?.body ?? "")).toEqual({
      type: "test",
      timestamp: "1970-01-01T00:00:00.001Z",
      data: { text: strangeText },
    });
    await webhooks.record([result(id, webhook.id)]);
    expect(await webhooks.listDue(9_000)).toEqual({ due: [], nextMicros: null });
    expect(await webhooks.find(tenantId, webhook.id)).toMatchObject({
      delivered: 1,
      waiting: 0,
      lastDeliveredMicros: 5_000,
    });
  });

  test("enqueuing the same id again changes nothing", async () => {
    const { webhooks, webhook } = await create();
    const draft = { id: randomUUID(), webhookId: webhook.id, event: "test", data: {} };
    await webhooks.enqueue(tenantId, [draft]);
    await webhooks.enqueue(tenantId, [{ ...draft, event: "again" }]);
    expect(await webhooks.listDeliveries(tenantId, { webhookId: webhook.id })).toMatchObject([
      { event: "test", state: "waiting" },
    ]);
  });

  test("a failed attempt is repeated at its time, and after the last one it is a dead letter", async () => {
    const { webhooks, webhook, enqueue, clock } = await create();
    const id = await enqueue();
    const failure = { ...result(id, webhook.id), status: 500, error: "status 500" };
    await webhooks.record([{ ...failure, nextMicros: 8_000 }]);
    expect((await webhooks.listDue(7_999)).due).toEqual([]);
    expect((await webhooks.listDue(8_000)).due).toMatchObject([{ id, attempts: 1 }]);
    await webhooks.record([failure]);
    expect(
      await webhooks.listDeliveries(tenantId, { webhookId: webhook.id, state: "dead" }),
    ).toMatchObject([{ id, attempts: 2, lastStatus: 500, lastError: "status 500" }]);
    expect(await webhooks.find(tenantId, webhook.id)).toMatchObject({ dead: 1, waiting: 0 });
    await expect(
      webhooks.resend(otherId, { webhookId: webhook.id, ids: [id] }),
    ).rejects.toMatchObject({ status: 404 });
    clock.nowMicros = 9_000;
    expect(await webhooks.resend(tenantId, { webhookId: webhook.id, ids: [randomUUID()] })).toBe(0);
    expect(await webhooks.resend(tenantId, { webhookId: webhook.id })).toBe(1);
    expect((await webhooks.listDue(9_000)).due).toMatchObject([{ id, attempts: 0 }]);
  });

  test("a disabled webhook keeps its deliveries, a deleted one does not", async () => {
    const { webhooks, webhook, enqueue } = await create();
    const id = await enqueue();
    await webhooks.update(tenantId, webhook.id, { isEnabled: false });
    expect((await webhooks.listDue(2_000)).due).toEqual([]);
    await webhooks.update(tenantId, webhook.id, { isEnabled: true });
    expect((await webhooks.listDue(2_000)).due).toHaveLength(1);
    await webhooks.delete(tenantId, webhook.id);
    await expect(webhooks.findDelivery(tenantId, id)).rejects.toMatchObject({ status: 404 });
  });

  test("a few deliveries of each webhook are due at a time, so a slow receiver delays no other", async () => {
    const { webhooks, webhook, enqueue } = await create();
    for (let index = 0; index < webhookLimits.atOnce + 2; index += 1) {
      await enqueue();
    }
    const other = await webhooks.create(otherId, { name: "other", url });
    await webhooks.enqueue(otherId, [
      { id: randomUUID(), webhookId: other.webhook.id, event: "test", data: {} },
    ]);
    const { due } = await webhooks.listDue(2_000);
    expect(due.filter(({ webhookId }) => webhookId === webhook.id)).toHaveLength(
      webhookLimits.atOnce,
    );
    expect(due.filter(({ tenantId: owner }) => owner === otherId)).toHaveLength(1);
  });

  test("a body that is too large is a dead letter with the reason, and is not sent again", async () => {
    const { webhooks, webhook, enqueue } = await create();
    const id = await enqueue({ text: "x".repeat(webhookLimits.bodyBytes) });
    expect(await webhooks.findDelivery(tenantId, id)).toMatchObject({
      state: "dead",
      body: "",
      lastError: `Not sent: the body has more than ${webhookLimits.bodyBytes} bytes.`,
    });
    expect(await webhooks.resend(tenantId, { webhookId: webhook.id })).toBe(0);
  });

  test("only the latest received deliveries are kept", async () => {
    const { webhooks, webhook, enqueue, clock } = await create();
    for (let index = 0; index < webhookLimits.keptDelivered + 5; index += 1) {
      clock.nowMicros += 1;
      await webhooks.record([result(await enqueue(), webhook.id)]);
    }
    const rows = await fixture.db.all(deliveryQueries.list, {
      tenantId,
      webhookId: webhook.id,
      limit: 1_000,
    });
    expect(rows).toHaveLength(webhookLimits.keptDelivered);
    expect(Math.min(...rows.map(({ created_us }) => created_us))).toBe(1_006);
    expect((await webhooks.find(tenantId, webhook.id)).delivered).toBe(
      webhookLimits.keptDelivered + 5,
    );
  });

  test("a tenant has a limited number of webhooks", async () => {
    const { webhooks } = await create();
    for (let index = 1; index < webhookLimits.perTenant; index += 1) {
      await webhooks.create(tenantId, { name: "n", url });
    }
    await expect(webhooks.create(tenantId, { name: "n", url })).rejects.toMatchObject({
      status: 409,
      message: `The tenant already has the maximum of ${webhookLimits.perTenant} webhooks. Delete one that is no longer needed.`,
    });
    await expect(webhooks.create(otherId, { name: "n", url })).resolves.toHaveProperty("secret");
  });
});
