import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { RequestError } from "../../model/errors.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import type { DeliveryDraft } from "../../webhooks/webhook.ts";
import { alertQueries } from "../alert-queries.ts";
import { AlertRepository } from "../alert-repository.ts";
import { alertLimits } from "../alert.ts";
import type { AlertDraft } from "../alert.ts";

const draft: AlertDraft = {
  name: strangeText,
  figure: "error_rate",
  scope: "traces",
  group: { by: "model", value: strangeText },
  filter: null,
  windowMinutes: 5,
  direction: "above",
  threshold: 0.1,
  webhookId: randomUUID(),
};

describeRepositories({ alertQueries }, (fixture) => {
  const create = async (fields: Partial<AlertDraft> = {}) => {
    const enqueued: DeliveryDraft[] = [];
    const enqueue = async (_tenantId: string, drafts: readonly DeliveryDraft[]): Promise<void> => {
      enqueued.push(...drafts);
    };
    const alerts = new AlertRepository(fixture.db, { enqueue }, () => 1);
    const projectId = await fixture.insertProject();
    const alert = await alerts.create(tenantId, projectId, { ...draft, ...fields });
    let atMicros = 60_000_000;
    const evaluate = (value: number | null | undefined, problem: string | null = null) => {
      atMicros += 60_000_000;
      const range = { atMicros, fromMicros: atMicros - 300_000_000, toMicros: atMicros };
      return alerts.record([{ tenantId, alertId: alert.id, ...range, value, problem }]);
    };
    const read = async () => (await alerts.list(tenantId, projectId))[0];
    return { alerts, projectId, alert, enqueued, evaluate, read };
  };

  test("an alert is created, listed and deleted, by its tenant only", async () => {
    const { alerts, projectId, alert, read } = await create();
    expect(alert).toMatchObject({ ...draft, status: { state: "no_data" }, value: null });
    expect(await read()).toEqual(alert);
    expect(await alerts.listActive()).toEqual([{ ...alert, tenantId }]);
    await expect(alerts.list(otherId, projectId)).rejects.toMatchObject({ status: 404 });
    await expect(alerts.delete(otherId, alert.id)).rejects.toMatchObject({ status: 404 });
    await expect(alerts.listHistory(otherId, alert.id)).rejects.toMatchObject({ status: 404 });
    await alerts.delete(tenantId, alert.id);
    expect(await read()).toBeUndefined();
  });

  test("a project has a limited number of alerts", async () => {
    const { alerts, projectId } = await create();
    for (let count = 1; count < alertLimits.perProject; count += 1) {
      await alerts.create(tenantId, projectId, { ...draft, name: `alert ${count}` });
    }
    await expect(alerts.create(tenantId, projectId, draft)).rejects.toMatchObject({
      status: 409,
      message:
        "The project already has the maximum of 50 alerts. Delete one that is no longer needed.",
    });
  });

  test("an alert that a version without filters stored has none", async () => {
    const { alert, read } = await create({ group: null });
    const { name: _name, filter: _filter, ...stored } = { ...draft, group: null };
    await fixture.exec(`UPDATE alerts SET draft_json = '${JSON.stringify(stored)}'`);
    expect(await read()).toEqual(alert);
  });

  test("words of a saved filter that now need quotes are searched for, as before", async () => {
    const { read } = await create({ group: null });
    const { name: _name, ...stored } = { ...draft, group: null, filter: "status:error" };
    await fixture.exec(`UPDATE alerts SET draft_json = '${JSON.stringify(stored)}'`);
    expect(await read()).toMatchObject({ filter: 'search("status:error")' });
  });

  test("firing and recovery are stored in the history and enqueued for the webhook", async () => {
    const { alerts, projectId, alert, enqueued, evaluate, read } = await create();
    expect(await evaluate(0.5)).toBe(false);
    expect(await evaluate(0.5)).toBe(true);
    expect(await read()).toMatchObject({ status: { state: "firing" }, value: 0.5 });
    for (const value of [0, 0, 0]) {
      await evaluate(value);
    }
    expect(enqueued.map(({ event, webhookId }) => [event, webhookId])).toEqual([
      ["alert.firing", draft.webhookId],
      ["alert.recovered", draft.webhookId],
    ]);
    expect(enqueued[0]?.data).toMatchObject({
      alert: { id: alert.id, name: strangeText, threshold: 0.1 },
      value: 0.5,
      session_id: projectId,
      from: "1969-12-31T23:58:00.000Z",
      to: "1970-01-01T00:03:00.000Z",
    });
    expect(await alerts.listHistory(tenantId, alert.id)).toEqual([
      { atMicros: 360_000_000, state: "ok", value: 0 },
      { atMicros: 180_000_000, state: "firing", value: 0.5 },
      { atMicros: 120_000_000, state: "ok", value: 0.5 },
    ]);
  });

  test("an evaluation that was not possible changes no state and says why", async () => {
    const { enqueued, evaluate, read } = await create();
    await evaluate(0.5);
    await evaluate(undefined, "too slow");
    expect(await read()).toMatchObject({ status: { state: "ok", streak: 1 }, problem: "too slow" });
    await evaluate(0.5);
    expect(enqueued).toHaveLength(1);
    expect(await read()).toMatchObject({ status: { state: "firing" }, problem: null });
  });

  test("a new name keeps the state; a new threshold begins anew; a disabled alert is not evaluated", async () => {
    const { alerts, alert, evaluate, read } = await create();
    await evaluate(0.5);
    await evaluate(0.5);
    await alerts.update(tenantId, alert.id, { name: "n", webhookId: null });
    expect(await read()).toMatchObject({ name: "n", status: { state: "firing" } });
    await alerts.update(tenantId, alert.id, { threshold: 0.9 });
    expect(await read()).toMatchObject({ threshold: 0.9, status: { state: "no_data" } });
    await alerts.update(tenantId, alert.id, { isEnabled: false });
    await evaluate(1);
    expect(await read()).toMatchObject({ value: null, isEnabled: false });
    expect(await alerts.listActive()).toEqual([]);
  });

  test("a webhook that was deleted is a problem of the alert, which fires all the same", async () => {
    const { alert, evaluate, projectId } = await create();
    const alerts = new AlertRepository(fixture.db, {
      enqueue: async () => {
        throw new RequestError(404, "Webhook not found");
      },
    });
    await evaluate(0.5);
    const range = { atMicros: 9, fromMicros: 1, toMicros: 9 };
    await alerts.record([{ tenantId, alertId: alert.id, ...range, value: 1, problem: null }]);
    expect(await alerts.list(tenantId, projectId)).toMatchObject([
      {
        status: { state: "firing" },
        problem: "The webhook was not notified: Webhook not found",
      },
    ]);
  });

  test("the history is limited", async () => {
    const { alerts, alert, evaluate } = await create({ webhookId: null });
    for (let index = 0; index < alertLimits.history + 5; index += 1) {
      await evaluate(index % 2 === 0 ? 0 : null);
    }
    expect(await alerts.listHistory(tenantId, alert.id)).toHaveLength(alertLimits.history);
    expect(
      await fixture.db.all(alertQueries.listEvents, { tenantId, id: alert.id, limit: 1_000 }),
    ).toHaveLength(alertLimits.history);
  });
});
