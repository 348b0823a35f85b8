import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { openTemporaryStore } from "../../../dist/store/sqlite-store.js";
import type { Store } from "../../store/store.ts";
import { patchOf, StoreFixture } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import { RuleRunner } from "../rule-runner.ts";
import type { RunnerDependencies } from "../rule-runner.ts";
import { RequestError } from "../../model/errors.ts";
import type { RunQuery } from "../../runs/run-query.ts";
import type { RuleAction } from "../rule-action.ts";
import type { Rule, RuleDraft } from "../rule.ts";
import { draftDataset } from "../../../tests/support/dataset-draft.ts";

const secondMicros = 1_000_000;

/** A store with a project, a queue, a dataset and a webhook. */
async function openScene() {
  const store: Store = await openTemporaryStore();
  onTestFinished(() => store.close());
  const fixture = new StoreFixture(store);
  const { tenantId } = fixture;
  await fixture.send({ post: [run("first")] });
  const [project] = await store.read.projects.list(tenantId, { name: "p", limit: 1, offset: 0 });
  const projectId = project?.id ?? "";
  const queueId = randomUUID();
  await store.write.annotationQueues.create(tenantId, {
    id: queueId,
    name: "q",
    description: null,
    defaultDatasetId: null,
    rubricInstructions: null,
    rubricItems: null,
    metadata: null,
    reviewers: {},
    createdMicros: null,
  });
  const queue: RuleAction = { kind: "queue", queue_id: queueId };
  const createRule = (draft: Partial<RuleDraft> = {}): Promise<Rule> =>
    store.write.rules.create(tenantId, projectId, {
      name: "r",
      filter: 'eq(name, "match")',
      samplingRate: 1,
      action: queue,
      ...draft,
    });
  const readRule = (id: string): Promise<Rule> => store.read.rules.find(tenantId, id);
  const listQueued = async (): Promise<readonly string[]> => {
    const entries = await store.read.annotationQueues.listEntries(tenantId, {
      queueId,
      status: undefined,
      limit: 1_000,
      offset: 0,
    });
    return entries.map(({ runId }) => runId).toSorted();
  };
  return { store, fixture, tenantId, projectId, queueId, createRule, readRule, listQueued };
}

const run = (name: string, fields: Readonly<Record<string, unknown>> = {}) =>
  wireRun({
    session_name: "p",
    name,
    inputs: { q: 1 },
    outputs: { a: 2 },
    end_time: (someMicros + secondMicros) / 1_000,
    ...fields,
  });

/** An open run: it has no end yet. */
const openRun = (name: string) => wireRun({ session_name: "p", name, inputs: { q: 1 } });

const endOf = (posted: ReturnType<typeof wireRun>, fields = {}) =>
  patchOf(posted, { end_time: (someMicros + secondMicros) / 1_000, ...fields });

const failJudge = (): never => {
  throw new Error("no rule of these tests has a judge");
};

const createDependencies = (store: RunnerDependencies["store"]): RunnerDependencies => ({
  store,
  judging: {
    models: { findEndpoint: failJudge, call: failJudge },
    workThreads: { run: failJudge },
  },
});

const storeOf = (store: Store): RunnerDependencies["store"] => ({
  read: store.read,
  write: store.write,
  ingest: async (tenantId, batch) => store.ingest(tenantId, batch),
});

function startRunner(store: Store, onEnqueued = (): void => {}): RuleRunner {
  const runner = new RuleRunner(createDependencies(store), onEnqueued, {
    stepMs: 5,
    busyMs: 1,
    idleMs: 5,
    failureMs: 5,
    actionDelaysMs: [1, 1],
  });
  runner.start();
  onTestFinished(() => runner.close());
  return runner;
}

/** Waits until the runner has got that far. */
const expectSoon = (read: () => unknown) => expect.poll(read, { timeout: 20_000, interval: 10 });

const idsOf = (...runs: readonly { readonly id: string }[]): readonly string[] =>
  runs.map(({ id }) => id).toSorted();

test("a rule applies to ended root runs that match and arrived after it", async () => {
  const { store, fixture, createRule, readRule, listQueued } = await openScene();
  const before = run("match");
  await fixture.send({ post: [before] });
  const rule = await createRule();
  const root = run("match");
  const child = { ...run("match", { parent: root }), session_name: "p" };
  const [other, elsewhere] = [run("other"), run("match", { session_name: "elsewhere" })];
  await fixture.send({ post: [root, child, other, elsewhere] });
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  expect(await listQueued()).toEqual([root.id]);
});

test("a run is considered when it has ended, as its patches have left it", async () => {
  const { store, fixture, createRule, readRule, listQueued } = await openScene();
  const rule = await createRule({ filter: 'and(eq(name, "match"), eq(error, "late"))' });
  const [failing, fine] = [openRun("match"), openRun("match")];
  await fixture.send({ post: [failing, fine] });
  startRunner(store);
  await expectSoon(
    async () => (await store.read.rules.scanRoots(Date.now() * 1_000)).opened.length,
  ).toBe(0);
  expect((await readRule(rule.id)).matched).toBe(0);
  await fixture.send({ patch: [endOf(fine), endOf(failing, { error: "late" })] });
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  expect(await listQueued()).toEqual([failing.id]);
});

test("after a restart the runner goes on, and applies a rule to no run twice", async () => {
  const { store, fixture, createRule, readRule, listQueued } = await openScene();
  const rule = await createRule();
  const [first, second, open] = [run("match"), run("match"), openRun("match")];
  await fixture.send({ post: [first, open] });
  const runner = startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  await runner.close();
  await fixture.send({ post: [second], patch: [endOf(open)] });
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(3);
  expect(await listQueued()).toEqual(idsOf(first, second, open));
  expect((await readRule(rule.id)).matched).toBe(3);
});

test("more runs than one step reads are all found", async () => {
  const { store, fixture, createRule, readRule } = await openScene();
  const rule = await createRule();
  for (let batch = 0; batch < 7; batch += 1) {
    await fixture.send({
      post: Array.from({ length: 1_000 }, (_none, index) =>
        run(index % 10 === 0 ? "match" : "other"),
      ),
    });
  }
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(700);
  expect((await readRule(rule.id)).matched).toBe(700);
}, 30_000);

test("runs that get the rows of deleted runs are found", async () => {
  const { store, fixture, tenantId, createRule, readRule, listQueued } = await openScene();
  await fixture.send({ post: Array.from({ length: 5 }, () => run("old", { session_name: "x" })) });
  const rule = await createRule();
  const [other] = await store.read.projects.list(tenantId, { name: "x", limit: 1, offset: 0 });
  await store.write.projects.delete(tenantId, other?.id ?? "");
  startRunner(store);
  await expectSoon(async () => (await store.read.rules.listActive())[0]?.fromRow).toBe(1);
  const root = run("match");
  await fixture.send({ post: [root] });
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  expect(await listQueued()).toEqual([root.id]);
});

test("a rule that is applied to past runs adds those of the range, and none again", async () => {
  const { store, fixture, tenantId, createRule, readRule, listQueued } = await openScene();
  const at = (seconds: number) => someMicros + seconds * secondMicros;
  const past = [0, 10, 20, 30].map((seconds) => run("match", { micros: at(seconds) }));
  const openPast = wireRun({ session_name: "p", name: "match", micros: at(15) });
  await fixture.send({ post: [...past, openPast] });
  const rule = await createRule();
  startRunner(store);
  const range = { fromMicros: at(5), toMicros: at(25) };
  await store.write.rules.beginPast(tenantId, rule.id, range);
  await expectSoon(async () => (await readRule(rule.id)).past).toBeNull();
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(2);
  expect(await listQueued()).toEqual(idsOf(...past.slice(1, 3)));
  await store.write.rules.beginPast(tenantId, rule.id, { ...range, fromMicros: at(-1) });
  await expectSoon(async () => (await readRule(rule.id)).past).toBeNull();
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(3);
  expect((await readRule(rule.id)).matched).toBe(3);
});

test("sampling chooses the same traces for new and for past runs", async () => {
  const { store, fixture, tenantId, createRule, readRule } = await openScene();
  const rule = await createRule({ samplingRate: 0.5 });
  const runs = Array.from({ length: 200 }, () => run("match"));
  await fixture.send({ post: runs });
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBeGreaterThan(60);
  const { matched } = await readRule(rule.id);
  expect(matched).toBeLessThan(140);
  await store.write.rules.beginPast(tenantId, rule.id, {
    fromMicros: 0,
    toMicros: Date.now() * 1_000_000,
  });
  await expectSoon(async () => (await readRule(rule.id)).past).toBeNull();
  expect((await readRule(rule.id)).matched).toBe(matched);
});

test("a rule whose filter is no longer valid is paused with the reason", async () => {
  const { store, createRule, readRule } = await openScene();
  const rule = await createRule({ filter: 'eq(nothing_of_this_name, "x")' });
  const valid = await createRule();
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).isEnabled).toBe(false);
  expect((await readRule(rule.id)).pausedReason).toMatch(/^The filter is no longer valid: /);
  expect((await readRule(valid.id)).isEnabled).toBe(true);
});

test("a rule whose filter was saved with words that now need quotes still searches for them", async () => {
  const { store, fixture, createRule, readRule, listQueued } = await openScene();
  const rule = await createRule({ filter: "status:error" });
  startRunner(store);
  const found = run("about status:error");
  await fixture.send({ post: [found, run("other")] });
  await expectSoon(listQueued).toEqual([found.id]);
  expect(await readRule(rule.id)).toMatchObject({
    isEnabled: true,
    filter: 'search("status:error")',
  });
});

test("a rule whose filter takes too long is paused, and the others are applied", async () => {
  const { store, fixture, createRule, readRule } = await openScene();
  const slow = await createRule({ filter: 'eq(name, "slow")' });
  const valid = await createRule();
  const runs = new Proxy(store.read.runs, {
    get: (target, name) =>
      name === "query"
        ? async (tenantId: string, query: RunQuery) => {
            if (JSON.stringify(query.filter.runFilters).includes('"slow"')) {
              throw new RequestError(408, "The query was stopped.");
            }
            return target.query(tenantId, query);
          }
        : (Reflect.get(target, name) as unknown),
  });
  const read = new Proxy(store.read, {
    get: (target, name) => (name === "runs" ? runs : (Reflect.get(target, name) as unknown)),
  });
  await fixture.send({ post: [run("match")] });
  const runner = new RuleRunner(createDependencies({ ...storeOf(store), read }), () => {}, {
    stepMs: 5,
    busyMs: 1,
  });
  runner.start();
  onTestFinished(() => runner.close());
  await expectSoon(async () => (await readRule(valid.id)).applied).toBe(1);
  expect(await readRule(slow.id)).toMatchObject({
    isEnabled: false,
    pausedReason: "The filter took too long: The query was stopped.",
  });
});

test("an action whose target is gone fails for each run with the reason", async () => {
  const { store, fixture, tenantId, queueId, createRule, readRule } = await openScene();
  const rule = await createRule();
  await store.write.annotationQueues.delete(tenantId, [queueId]);
  const root = run("match");
  await fixture.send({ post: [root] });
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).failed).toBe(1);
  expect(await readRule(rule.id)).toMatchObject({
    applied: 0,
    lastErrors: [{ runId: root.id, reason: expect.stringMatching(/queue/i) as string }],
  });
});

test("a deleted run fails alone, and the runs with it are added", async () => {
  const { store, fixture, tenantId, projectId, createRule, readRule, listQueued } =
    await openScene();
  const rule = await createRule();
  const root = run("match");
  await fixture.send({ post: [root] });
  await store.write.rules.advance(
    { toRow: 0, hasMore: false, opened: [], closed: [], expired: [] },
    [{ tenantId, ruleId: rule.id, runIds: [root.id, randomUUID()] }],
  );
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).failed).toBe(1);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  expect(await listQueued()).toEqual([root.id]);
  expect((await readRule(rule.id)).projectId).toBe(projectId);
});

test("the dataset action adds inputs and outputs once", async () => {
  const { store, fixture, tenantId, createRule, readRule } = await openScene();
  const datasetId = randomUUID();
  await store.write.datasets.create(tenantId, draftDataset({ id: datasetId }));
  const rule = await createRule({ action: { kind: "dataset", dataset_id: datasetId } });
  const root = run("match");
  await fixture.send({ post: [root] });
  startRunner(store);
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  const count = await store.read.examples.count(tenantId, { datasetId, versionTime: null });
  expect(count).toBe(1);
});

test("the webhook action enqueues one delivery without inputs and outputs", async () => {
  const { store, fixture, tenantId, createRule, readRule } = await openScene();
  const { webhook } = await store.write.webhooks.create(tenantId, {
    name: "h",
    url: "https://example.com/",
  });
  const rule = await createRule({ action: { kind: "webhook", webhook_id: webhook.id } });
  const root = run("match", { error: "e".repeat(10_000), inputs: { secret: "private" } });
  await fixture.send({ post: [root] });
  let wakes = 0;
  startRunner(store, () => {
    wakes += 1;
  });
  await expectSoon(async () => (await readRule(rule.id)).applied).toBe(1);
  expect(wakes).toBe(1);
  const [delivery] = await store.read.webhooks.listDeliveries(tenantId, { webhookId: webhook.id });
  const { body } = await store.read.webhooks.findDelivery(tenantId, delivery?.id ?? "");
  expect(JSON.parse(body)).toMatchObject({
    type: "run.matched",
    data: {
      rule: { id: rule.id, name: "r" },
      run: { id: root.id, name: "match", session_name: "p", status: "error" },
    },
  });
  expect(body).not.toContain("private");
  expect(body.length).toBeLessThan(4_000);
});

test("runs are searched only while a rule is enabled", async () => {
  const { store, tenantId, createRule } = await openScene();
  let steps = 0;
  let scans = 0;
  const rules = new Proxy(store.read.rules, {
    get: (target, name) => {
      steps += name === "listActive" ? 1 : 0;
      scans += name === "scanRoots" ? 1 : 0;
      return Reflect.get(target, name) as unknown;
    },
  });
  const read = new Proxy(store.read, {
    get: (target, name) => (name === "rules" ? rules : (Reflect.get(target, name) as unknown)),
  });
  const runner = new RuleRunner(createDependencies({ ...storeOf(store), read }), () => {}, {
    stepMs: 1,
    idleMs: 1,
  });
  runner.start();
  onTestFinished(() => runner.close());
  await expectSoon(() => steps).toBeGreaterThan(3);
  expect(scans).toBe(0);
  const rule = await createRule();
  await expectSoon(() => scans).toBeGreaterThan(0);
  await store.write.rules.update(tenantId, rule.id, { isEnabled: false });
});
