import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import type { ComparisonRequest } from "../../../experiments/experiment.ts";
import { dimensions, scopes } from "../../../metrics/metrics.ts";
import { PriceReader } from "../../../prices/price-repository.ts";
import { EnginePairs } from "../../../../tests/support/engine-pairs.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import type { RecomputeProgress } from "../../usage/run-cost.ts";

// The resources that read runs, over the same runs on SQLite and on PostgreSQL.

let pairs: EnginePairs;
beforeAll(async () => {
  pairs = await EnginePairs.open();
}, 60_000);
afterAll(() => pairs.close());

const second = 1_000_000;
const withinMs = 60_000;

test("threads have the same turns, usage, messages and order on both engines", async () => {
  const pair = await pairs.create();
  const { readers } = pairs.sqlite;
  const turns = Array.from({ length: 12 }, (_, index) => {
    const root = wireRun({
      name: `turn ${index}`,
      session_name: "chat",
      micros: someMicros + index * second,
      end_time: (someMicros + index * second) / 1_000 + 500,
      inputs: { messages: [{ role: "user", content: `question ${index}` }] },
      outputs: { messages: [{ role: "assistant", content: `answer ${index}` }] },
      extra: { metadata: { thread_id: `thread ${index % 5}` } },
      ...(index === 11 ? { error: "Boom\nat line 1" } : {}),
    });
    const call = wireRun({
      parent: root,
      name: "call",
      run_type: "llm",
      session_name: "chat",
      micros: someMicros + index * second + 10,
      outputs: { usage_metadata: { input_tokens: index, output_tokens: 1, total_cost: 0.25 } },
      extra: { metadata: { thread_id: `thread ${index % 5}` } },
    });
    return [root, call];
  });
  // A run with more metadata than is indexed, and a trace whose root has no thread.
  const large = wireRun({
    name: "large",
    session_name: "chat",
    micros: someMicros + 20 * second,
    extra: { metadata: { thread_id: "thread 3", much: "x".repeat(70_000) } },
  });
  const bare = wireRun({ name: "bare", session_name: "chat", micros: someMicros + 30 * second });
  const member = wireRun({
    name: "member",
    parent: bare,
    session_name: "chat",
    micros: someMicros + 31 * second,
    extra: { metadata: { session_id: "é thread" } },
  });
  await pair.send({ post: [...turns.flat(), large, bare, member] });
  await pair.sendFeedback(
    { runId: turns[0]?.[0]?.id ?? "", score: 1 },
    { runId: turns[5]?.[0]?.id ?? "", score: 0, value: "bad" },
  );
  const project = await pair.findProject("chat");
  for (const query of [{ limit: 20 }, { limit: 20, text: "thread 1" }, { limit: 2 }]) {
    const page = await pairs.postgres.read.threads.list(pair.tenantId, {
      ...query,
      projectId: project.postgres,
      withinMs,
    });
    expect(page.threads).not.toEqual([]);
    expect(page).toEqual(
      await readers.threads.list(pair.tenantId, {
        ...query,
        projectId: project.sqlite,
        withinMs,
      }),
    );
  }
  const first = await pairs.postgres.read.threads.list(pair.tenantId, {
    projectId: project.postgres,
    limit: 2,
    withinMs,
  });
  const rest = await pairs.postgres.read.threads.list(pair.tenantId, {
    projectId: project.postgres,
    limit: 20,
    withinMs,
    ...(first.next && { after: first.next }),
  });
  expect([...first.threads, ...rest.threads].map(({ id }) => id)).toHaveLength(6);
  for (const threadId of ["thread 3", "é thread", "thread 1", "nobody"]) {
    const query = { threadId, offset: 0, limit: 10 };
    expect(
      await pairs.postgres.read.threads.readTurns(pair.tenantId, {
        ...query,
        projectId: project.postgres,
      }),
    ).toEqual(
      await readers.threads.readTurns(pair.tenantId, { ...query, projectId: project.sqlite }),
    );
  }
});

test("metrics are the same on both engines, for each scope, dimension and filter", async () => {
  const pair = await pairs.create();
  const minute = 60 * second;
  const start = Math.floor(someMicros / (60 * minute)) * 60 * minute;
  const roots = Array.from({ length: 30 }, (_, index) =>
    wireRun({
      name: `root ${index % 4}`,
      session_name: "metered",
      micros: start + index * 3 * minute,
      tags: index % 3 === 0 ? ["a", "b"] : ["b"],
      extra: {
        metadata: { [index % 3 === 0 ? "langfuse_user_id" : "user_id"]: `user ${index % 2}` },
      },
      ...(index % 5 === 0 ? {} : { end_time: (start + index * 3 * minute) / 1_000 + index * 7 }),
      ...(index % 7 === 0 ? { error: "x" } : {}),
    }),
  );
  const calls = roots.map((parent, index) =>
    wireRun({
      parent,
      name: "call",
      run_type: "llm",
      session_name: "metered",
      micros: start + index * 3 * minute + 1_000,
      end_time: (start + index * 3 * minute) / 1_000 + 40,
      events: [{ name: "new_token", time: (start + index * 3 * minute) / 1_000 + 20 }],
      outputs: { usage_metadata: { input_tokens: index, output_tokens: 2, total_cost: 0.5 } },
      extra: { metadata: { ls_model_name: index % 2 === 0 ? "one" : "two" } },
    }),
  );
  await pair.send({ post: [...roots, ...calls] });
  const project = await pair.findProject("metered");
  const range = { fromMicros: start + 30 * minute, toMicros: start + 120 * minute };
  const filter = { runFilters: [checkFilter('has(tags, "a")', runFields)] };
  for (const scope of scopes) {
    for (const groupBy of [undefined, ...dimensions]) {
      for (const filtered of [{}, { filter }]) {
        const query = { ...range, scope, groupBy, widthMicros: 10 * minute, withinMs, ...filtered };
        const metrics = await pairs.postgres.read.metrics.read(pair.tenantId, {
          ...query,
          projectId: project.postgres,
        });
        expect(metrics).toEqual(
          pairs.sqlite.readers.metrics.read(pair.tenantId, {
            ...query,
            projectId: project.sqlite,
          }),
        );
        expect(metrics.missing).toEqual([]);
      }
    }
  }
});

test("runs that were not counted yet, and could not be counted in time, are named", async () => {
  const pair = await pairs.create();
  await pair.send({ post: [wireRun({ session_name: "late" })] });
  const { postgres: projectId } = await pair.findProject("late");
  const hour = 3_600 * second;
  const fromMicros = Math.floor(someMicros / hour) * hour;
  const { missing, all } = await pairs.postgres.read.metrics.read(pair.tenantId, {
    projectId,
    fromMicros,
    toMicros: fromMicros + hour,
    scope: "all",
    groupBy: undefined,
    widthMicros: hour,
    withinMs: -1,
  });
  expect(all.total.runs).toBe(0);
  const minute = Math.floor(someMicros / (60 * second)) * 60 * second;
  expect(missing).toEqual([{ fromMicros: minute, toMicros: minute + 60 * second }]);
});

test("experiments are compared by the same rules on both engines", async () => {
  const pair = await pairs.create();
  const examples = Array.from({ length: 6 }, () => randomUUID());
  const experiments = ["first", "second"];
  const runs = experiments.flatMap((session_name, place) =>
    examples.flatMap((reference_example_id, index) =>
      wireRun({
        session_name,
        reference_example_id,
        micros: someMicros + index,
        end_time: someMicros / 1_000 + 100 + index * (place + 1),
        outputs: { text: `${session_name} ${index}` },
        ...(index === 5 ? { error: "bad" } : {}),
      }),
    ),
  );
  const calls = runs.map((parent) =>
    wireRun({
      parent,
      run_type: "llm",
      session_name: "first",
      outputs: { usage_metadata: { input_tokens: 5, output_tokens: 8, total_cost: 0.1 } },
    }),
  );
  await pair.send({ post: [...runs, ...calls] });
  await pair.sendFeedback(
    ...runs.flatMap(({ id }, index) => [
      { runId: id, key: "correct", score: index % 3 === 0 ? 1 : 0 },
      { runId: id, key: "style", score: index / 10, value: index % 2 === 0 ? "a" : "b" },
    ]),
  );
  const ids = [await pair.findProject("first"), await pair.findProject("second")];
  const toName = (text: string): string =>
    ids.reduce(
      (names, { sqlite, postgres }, index) =>
        names.replaceAll(sqlite, `experiment ${index}`).replaceAll(postgres, `experiment ${index}`),
      text,
    );
  const describe = (value: unknown): unknown =>
    JSON.parse(
      toName(
        JSON.stringify(value, (_name, inner: unknown): unknown =>
          inner instanceof Map ? [...inner] : inner,
        ),
      ),
    );
  const request = (engine: "sqlite" | "postgres"): ComparisonRequest => ({
    experimentIds: ids.map((id) => id[engine]),
    baselineId: ids[0]?.[engine] ?? "",
    lowerIsBetter: new Set(),
    order: "run",
    subset: "all",
    limit: 10,
    offset: 0,
  });
  const page = await pairs.postgres.read.experiments.compare(pair.tenantId, request("postgres"));
  expect(page.exampleCount).toBe(6);
  expect(page.keys.map(({ key }) => key)).toEqual(["correct", "style"]);
  expect(describe(page)).toEqual(
    describe(pairs.sqlite.readers.experiments.compare(pair.tenantId, request("sqlite"))),
  );
  const readRuns = (engine: "sqlite" | "postgres") => ({
    experimentIds: ids.map((id) => id[engine]),
    exampleIds: examples.slice(0, 4),
    previewChars: 20,
  });
  const compared = await pairs.postgres.read.experiments.readRuns(
    pair.tenantId,
    readRuns("postgres"),
  );
  expect(compared).toHaveLength(8);
  expect(describe(compared)).toEqual(
    describe(pairs.sqlite.readers.experiments.readRuns(pair.tenantId, readRuns("sqlite"))),
  );
  expect(
    await pairs.postgres.read.experiments.measureOutputTokens(pair.tenantId, [
      ids[1]?.postgres ?? "",
      ids[0]?.postgres ?? "",
    ]),
  ).toBe(8);
  const filter = { runFilters: [checkFilter("eq(is_root, true)", runFields)] };
  expect(await pairs.postgres.read.feedback.readStatsOfFilter(pair.tenantId, filter)).toEqual(
    await pairs.sqlite.readers.feedback.readStatsOfFilter(pair.tenantId, filter),
  );
});

test("expired runs are deleted with what belongs to them, and their values are no longer suggested", async () => {
  const pair = await pairs.create();
  const old = Array.from({ length: 120 }, (_, index) =>
    wireRun({
      name: "old",
      session_name: "kept",
      tags: ["old", "both"],
      micros: someMicros + index,
      extra: { metadata: { thread_id: "gone" } },
    }),
  );
  const fresh = wireRun({
    name: "fresh",
    session_name: "kept",
    tags: ["both"],
    micros: someMicros + 3_600 * second,
    extra: { metadata: { thread_id: "here" } },
  });
  await pair.send({ post: [...old, fresh] });
  await pair.sendFeedback({ runId: old[0]?.id ?? "", score: 1 });
  const { postgres: projectId } = await pair.findProject("kept");
  const { runs: expiredRuns, values } = pairs.postgres.writer.retention;
  const before = someMicros + 60 * second;
  const steps: number[] = [];
  for (let deleted = 1; deleted > 0;) {
    deleted = await pairs.postgres.transact(async () =>
      expiredRuns.deleteSome(pair.tenantId, projectId, before),
    );
    steps.push(deleted);
  }
  expect(steps).toEqual([100, 20, 0]);
  while (((await pairs.postgres.transact(async () => values?.deleteSome())) ?? 0) > 0) {
    // Repeat until no value of deleted runs is left to examine.
  }
  const { runs } = pairs.postgres.read;
  expect((await runs.readStatistics(pair.tenantId, {})).runCount).toBe(1);
  expect(await runs.find(pair.tenantId, old[0]?.id ?? "")).toBeUndefined();
  const suggest = (kind: "tag" | "name") =>
    pairs.postgres.read.runLists.listSuggestions(pair.tenantId, {
      projectId,
      kind,
      prefix: "",
      limit: 10,
    });
  expect(await suggest("tag")).toEqual(["both"]);
  expect(await suggest("name")).toEqual(["fresh"]);
  const { threads } = await pairs.postgres.read.threads.list(pair.tenantId, {
    projectId,
    limit: 10,
    withinMs,
  });
  expect(threads.map(({ id }) => id)).toEqual(["here"]);
  expect(await pairs.postgres.read.feedback.readStatsOfFilter(pair.tenantId, {})).toEqual({});
  // After the deletion, a new run may have the same id.
  expect(await pair.sendPostgres({ post: [old[0]] })).toMatchObject({ accepted: 1 });
  const [use] = await pairs.postgres.read.storage.listProjects(pair.tenantId, {
    limit: 5,
    offset: 0,
  });
  expect(use).toMatchObject({ name: "kept", count: 2, isComplete: true, oldestMicros: someMicros });
});

test("roots are found once, after they were stored or have ended", async () => {
  const pair = await pairs.create();
  const { db, writer, transact } = pairs.postgres;
  const scan = () => transact(async () => writer.roots.scan(someMicros));
  await pair.send({ post: [wireRun({ session_name: "ruled" })] });
  const { postgres: projectId } = await pair.findProject("ruled");
  await db.query(
    `INSERT INTO rules (tenant_id, id, project_id, name_json, filter_json, sampling_rate, action_json, is_enabled,
       created_us, from_row, matched, applied, failed)
     SELECT $1, 'rule', $2, '"rule"', '""', 1, '{}', 1, 0, 0, 0, 0, 0`,
    [pair.tenantId, projectId],
  );
  const from = await transact(async () => writer.roots.latestRow());
  await db.query("INSERT INTO rule_cursor (id, last_row) VALUES (1, $1::bigint)", [from]);
  const ended = wireRun({ session_name: "ruled", end_time: someMicros / 1_000 + 5 });
  const open = wireRun({ session_name: "ruled" });
  const child = wireRun({ session_name: "ruled", parent: ended, end_time: someMicros / 1_000 + 4 });
  await pair.send({ post: [ended, open, child, wireRun({ session_name: "other" })] });
  const first = await scan();
  expect(first.ended.map(({ id }) => id)).toEqual([ended.id]);
  expect(first.opened.map(({ key }) => key)).toEqual([open.id]);
  expect(first.hasMore).toBe(false);
  await db.query("UPDATE rule_cursor SET last_row = $1::bigint", [first.toRow]);
  await db.query(
    "INSERT INTO rule_open_roots (run_row, run_key, since_us) VALUES ($1::bigint, $2, $3::bigint)",
    [first.opened[0]?.row, open.id, someMicros],
  );
  expect((await scan()).ended).toEqual([]);
  const { id, trace_id, dotted_order } = open;
  await pair.send({
    patch: [{ id, trace_id, dotted_order, end_time: someMicros / 1_000 + 9 }],
  });
  const second_ = await scan();
  expect(second_.ended.map((root) => root.id)).toEqual([open.id]);
  expect(second_.closed).toEqual([first.opened[0]?.row]);
});

test("costs are computed again after a change of prices", async () => {
  const pair = await pairs.create();
  const { db, writer, transact } = pairs.postgres;
  const call = wireRun({
    run_type: "llm",
    outputs: { usage_metadata: { input_tokens: 1_000_000, output_tokens: 0 } },
    extra: { metadata: { ls_model_name: "our-own-model" } },
  });
  await pair.send({ post: [call, wireRun({ run_type: "llm" })] });
  const { runs } = pairs.postgres.read;
  expect((await runs.find(pair.tenantId, call.id))?.cost?.total_cost).toBeNull();
  const start = {
    position: 0,
    last: 0,
    isDone: false,
    examined: 0,
    changed: 0,
    unreadable: 0,
    unknownModels: {},
  };
  const recompute = async (): Promise<RecomputeProgress> => {
    let progress: RecomputeProgress = start;
    // A slice is limited in time, so a busy machine needs several.
    while (!progress.isDone) {
      const last = progress;
      progress = await transact(async () => writer.costs.recomputeSome(pair.tenantId, last));
    }
    return progress;
  };
  const unknown = await recompute();
  expect(unknown).toMatchObject({ isDone: true, examined: 1, changed: 0 });
  expect(unknown.unknownModels).toEqual({ "our-own-model": 1 });
  await db.query(
    `INSERT INTO model_prices (tenant_id, model, provider, tier, from_us, prices_json)
     VALUES ($1, 'our-own-model', '', '', 0, '{"input":2,"output":3}')`,
    [pair.tenantId],
  );
  const priced = await recompute();
  expect(priced).toMatchObject({ isDone: true, examined: 1, changed: 1, unknownModels: {} });
  expect((await runs.find(pair.tenantId, call.id))?.cost?.total_cost).toBe(2);
});

test("model calls are counted by their price on both engines", async () => {
  const pair = await pairs.create();
  const other = await pairs.create();
  const call = (model: string, index: number) =>
    wireRun({
      run_type: "llm",
      session_name: `priced ${index % 2}`,
      micros: someMicros + index * second,
      outputs: { usage_metadata: { input_tokens: 1_000_000, output_tokens: 0 } },
      extra: { metadata: { ls_model_name: model } },
    });
  const models = ["gpt-4o", "our-own-model", "gpt-4o", "our-own-model", "our-own-model"];
  const failed = { ...call("failed-model", 5), outputs: undefined, error: "429" };
  await pair.send({
    post: [...models.map(call), wireRun({ session_name: "priced 0" }), failed],
  });
  await other.send({ post: [call("of-others", 0)] });
  const search = { sinceMicros: someMicros, withinMs };
  const { db } = pairs.postgres;
  const found = await new PriceReader(db).readModelCalls(pair.tenantId, search);
  expect(found).toEqual({
    groups: [
      {
        price: "none",
        model: "our-own-model",
        provider: null,
        reason: 'No price is known for the model "our-own-model".',
        calls: 3,
        cost: 0,
        latestMicros: someMicros + 4 * second,
      },
      {
        price: "library",
        model: "gpt-4o",
        provider: "openai",
        reason: null,
        calls: 2,
        cost: 5,
        latestMicros: someMicros + 2 * second,
      },
      {
        price: "no_tokens",
        model: "failed-model",
        provider: null,
        reason: null,
        calls: 1,
        cost: 0,
        latestMicros: someMicros + 5 * second,
      },
    ],
    otherCalls: 0,
    isComplete: true,
  });
  expect(await pairs.sqlite.readers.prices.readModelCalls(pair.tenantId, search)).toEqual(found);
  const usage = await pairs.postgres.read.traces.readUsage(pair.tenantId, [failed.id]);
  expect(usage.get(failed.id)?.models).toEqual(["failed-model"]);
  const none = { ...search, withinMs: -1 };
  expect(await new PriceReader(db).readModelCalls(pair.tenantId, none)).toMatchObject({
    isComplete: false,
  });
});
