import { minuteMicros } from "../../model/durations.ts";
import { expect, onTestFinished, test } from "vitest";
import { openTemporaryStore } from "../../../dist/store/sqlite-store.js";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import type { Store } from "../../store/store.ts";
import { AlertEvaluator } from "../alert-evaluator.ts";
import type { Alert, AlertDraft } from "../alert.ts";

/** A whole minute. */
const nowMicros = Math.floor(1_795_255_872_345_678 / minuteMicros) * minuteMicros;

/** A store with a project in which ten traces began in the last minutes, of which two failed. */
async function openScene() {
  const store: Store = await openTemporaryStore();
  onTestFinished(() => store.close());
  const fixture = new StoreFixture(store);
  const { tenantId } = fixture;
  const run = (index: number, startMicros = nowMicros - 3 * minuteMicros + index) =>
    wireRun({
      session_name: "p",
      micros: startMicros,
      run_type: "llm",
      end_time: (startMicros + (index + 1) * 100_000) / 1_000,
      extra: { metadata: { ls_model_name: index < 4 ? "small" : "large" } },
      ...(index < 2 && { error: "no" }),
    });
  await fixture.send({ post: Array.from({ length: 10 }, (_none, index) => run(index)) });
  // Outside of the window: before it, and in the minute that is not over.
  await fixture.send({
    post: [run(0, nowMicros - 6 * minuteMicros), run(0, nowMicros + 1_000_000)],
  });
  const [project] = await store.read.projects.list(tenantId, { limit: 1, offset: 0 });
  const projectId = project?.id ?? "";
  const { webhook } = await store.write.webhooks.create(tenantId, {
    name: "h",
    url: "https://example.com/",
  });
  const create = (fields: Partial<AlertDraft> = {}): Promise<Alert> =>
    store.write.alerts.create(tenantId, projectId, {
      name: "a",
      figure: "runs",
      scope: "traces",
      group: null,
      filter: null,
      windowMinutes: 5,
      direction: "above",
      threshold: 1_000,
      webhookId: webhook.id,
      ...fields,
    });
  const values = async (): Promise<Readonly<Record<string, number | null>>> => {
    const alerts = await store.read.alerts.list(tenantId, projectId);
    return Object.fromEntries(alerts.map(({ name, value }) => [name, value]));
  };
  return { store, fixture, tenantId, projectId, webhook, create, values };
}

test("each figure is that of the whole minutes of the window", async () => {
  const { store, create, values } = await openScene();
  await create({ name: "runs" });
  await create({ name: "errors", figure: "error_rate", threshold: 1 });
  await create({ name: "small", group: { by: "model", value: "small" } });
  await create({
    name: "errors of small",
    figure: "error_rate",
    threshold: 1,
    group: { by: "model", value: "small" },
  });
  await create({ name: "unknown", group: { by: "model", value: "unknown" } });
  await create({
    name: "errors of unknown",
    figure: "error_rate",
    threshold: 1,
    group: { by: "user", value: "unknown" },
  });
  await create({ name: "failed", group: { by: "status", value: "error" } });
  await create({ name: "pending", group: { by: "status", value: "pending" } });
  await create({ name: "longer than 0.55 s", filter: "latency > 0.55s" });
  await create({
    name: "small and longer than 0.25 s",
    group: { by: "model", value: "small" },
    filter: 'gt(latency, "0.25s")',
  });
  await create({
    name: "errors of those",
    figure: "error_rate",
    threshold: 1,
    filter: "latency < 0.35s",
  });
  await create({ name: "p50", figure: "latency_p50" });
  await create({ name: "first", figure: "first_token_p99" });
  await create({ name: "cost", figure: "cost" });
  await create({ name: "cost per run", figure: "cost_per_run" });
  await create({
    name: "cost per run of unknown",
    figure: "cost_per_run",
    group: { by: "user", value: "unknown" },
  });
  await new AlertEvaluator(store, () => {}).evaluateAll(nowMicros + 30_000_000);
  const found = await values();
  expect(found).toMatchObject({
    runs: 10,
    errors: 0.2,
    small: 4,
    "errors of small": 0.5,
    unknown: 0,
    failed: 2,
    pending: 0,
    "longer than 0.55 s": 5,
    "small and longer than 0.25 s": 2,
    "errors of those": 2 / 3,
    "errors of unknown": null,
    first: null,
    cost: 0,
    "cost per run": 0,
    "cost per run of unknown": null,
  });
  // Percentiles are off by at most 2 %.
  expect(found["p50"]).toBeGreaterThan(480);
  expect(found["p50"]).toBeLessThan(620);
});

test("an alert that fires enqueues a delivery, and says so", async () => {
  const { store, tenantId, projectId, webhook, create } = await openScene();
  await create({ threshold: 9 });
  let notifications = 0;
  const evaluator = new AlertEvaluator(store, () => {
    notifications += 1;
  });
  await evaluator.evaluateAll(nowMicros);
  expect(notifications).toBe(0);
  await evaluator.evaluateAll(nowMicros + minuteMicros / 2);
  expect(notifications).toBe(1);
  expect(
    await store.read.webhooks.listDeliveries(tenantId, { webhookId: webhook.id }),
  ).toMatchObject([{ event: "alert.firing" }]);
  expect(await store.read.alerts.list(tenantId, projectId)).toMatchObject([
    { status: { state: "firing" }, value: 10 },
  ]);
});

test("an alert is deleted with its project", async () => {
  const { store, tenantId, projectId, create } = await openScene();
  await create();
  await store.write.projects.delete(tenantId, projectId);
  expect(await store.read.alerts.listActive()).toEqual([]);
});
