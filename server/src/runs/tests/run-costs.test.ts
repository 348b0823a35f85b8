import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { toStatsJson } from "../serializers/stats-json.ts";
import { FilterFixture } from "../../../tests/support/filter-fixture.ts";
import { patchOf, revertToFormat } from "../../../tests/support/store-fixture.ts";
import type { WireObject } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import type { RecomputeProgress } from "../usage/run-cost.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { readDefaultTenantId } from "../../storage/sqlite/open-database.ts";
import { createReaders, createWriters } from "../../store/repositories.ts";
import { openWriter } from "../../store/schema.ts";
import { packPosts } from "../sqlite/post-rows.ts";
import { parseBatch } from "../ingest/parse-batch.ts";

const used = (input: number, output: number, rest: WireObject = {}): WireObject => ({
  outputs: { usage_metadata: { input_tokens: input, output_tokens: output, ...rest } },
});
const called = (model: string, provider = "openai"): WireObject => ({
  extra: { metadata: { ls_model_name: model, ls_provider: provider } },
});
const llm = (fields: WireObject = {}) => wireRun({ run_type: "llm", ...fields });

/** The costs of the only run, as it is read back. */
const costsOf = (fixture: FilterFixture): WireObject => {
  const [run = {}] = fixture.runs();
  const { total_cost, prompt_cost, completion_cost } = run;
  return { total_cost, prompt_cost, completion_cost };
};

/** The cost of 1,000 input tokens and 100 output tokens of gpt-4o. */
const costs = { total_cost: "0.0035", prompt_cost: "0.0025", completion_cost: "0.001" };
const noCosts = { total_cost: null, prompt_cost: null, completion_cost: null };

describe("the cost of a run is computed", () => {
  test("when its post contains model and usage", () => {
    const fixture = new FilterFixture();
    fixture.send({ post: [llm({ ...called("gpt-4o"), ...used(1_000, 100) })] });
    expect(costsOf(fixture)).toEqual(costs);
  });

  test("when the posts of a batch are inserted as rows", () => {
    const fixture = new FilterFixture();
    const priced = llm({ ...called("gpt-4o"), ...used(1_000, 100) });
    const post = [wireRun(), priced, llm({ ...called("none"), ...used(1, 1) }), llm()];
    const batch = packPosts(parseBatch(Buffer.from(JSON.stringify({ post }))).batch);
    // A duplicate makes the writer store the runs one by one.
    for (const _ of ["first", "again"]) {
      fixture.writers.runs.apply(fixture.tenantId, structuredClone(batch));
      expect(fixture.runs().flatMap(({ total_cost: cost }) => cost ?? [])).toEqual(["0.0035"]);
    }
  });

  test.each([
    ["usage in the patch, model in the post", called("gpt-4o"), used(1_000, 100)],
    ["usage in the post, model in the patch", used(1_000, 100), called("gpt-4o")],
    ["both in the patch", {}, { ...called("gpt-4o"), ...used(1_000, 100) }],
    ["both in the post", { ...called("gpt-4o"), ...used(1_000, 100) }, { tags: ["x"] }],
    [
      "the response's model in the patch, the provider in the post",
      called("my-deployment"),
      { outputs: { ...(used(1_000, 100)["outputs"] as WireObject), model: "gpt-4o" } },
    ],
  ])("from %s, in either order", (_, ofPost, ofPatch) => {
    const post = llm(ofPost);
    const patch = patchOf(post, ofPatch);
    const inOrder = new FilterFixture();
    inOrder.send({ post: [post] });
    inOrder.send({ patch: [patch] });
    expect(costsOf(inOrder)).toEqual(costs);
    const reversed = new FilterFixture();
    reversed.send({ patch: [patch] });
    reversed.send({ post: [post] });
    expect(costsOf(reversed)).toEqual(costs);
    const together = new FilterFixture();
    together.send({ post: [post], patch: [patch] });
    expect(costsOf(together)).toEqual(costs);
  });

  test("again when a later patch changes the usage or the type of the run", () => {
    const fixture = new FilterFixture();
    const post = llm({ ...called("gpt-4o"), ...used(1_000, 100) });
    fixture.send({ post: [post] });
    fixture.send({ patch: [patchOf(post, used(2_000, 200))] });
    expect(costsOf(fixture)).toMatchObject({ total_cost: "0.007" });
    fixture.send({ patch: [patchOf(post, { run_type: "chain" })] });
    expect(costsOf(fixture)).toEqual(noCosts);
  });

  test("unless the run reports one itself, in whichever record", () => {
    const fixture = new FilterFixture();
    const post = llm(called("gpt-4o"));
    fixture.send({ post: [post] });
    fixture.send({ patch: [patchOf(post, used(1_000, 100, { total_cost: 7 }))] });
    expect(costsOf(fixture)).toEqual({ ...noCosts, total_cost: "7" });
  });
});

describe("computed costs", () => {
  /** A trace of a chain that repeats the usage of its model call, an embedding, and a call of an unknown model. */
  function sendTrace(fixture: FilterFixture): void {
    const root = wireRun({ ...called("gpt-4o"), ...used(1_000, 100), name: "root" });
    const embedding = {
      run_type: "embedding",
      ...called("text-embedding-3-small"),
      outputs: { usage_metadata: { input_tokens: 1_000_000 } },
    };
    fixture.send({
      post: [
        root,
        llm({ parent: root, name: "known", ...called("gpt-4o"), ...used(1_000, 100) }),
        llm({ parent: root, name: "unknown", ...called("no-such-model"), ...used(5, 5) }),
        wireRun({ parent: root, name: "embedding", ...embedding }),
      ],
    });
  }

  test("are summed over the model calls, in statistics and by trace", () => {
    const fixture = new FilterFixture();
    sendTrace(fixture);
    const statistics = fixture.readers.runs.readStatistics(fixture.tenantId, {});
    expect(toStatsJson(statistics)).toMatchObject({
      total_cost: 0.0235,
      prompt_cost: 0.0225,
      completion_cost: 0.001,
      cost_p50: 0.0035,
      cost_p99: 0.02,
    });
    const traceId = String(fixture.runs()[0]?.["trace_id"]);
    const usage = fixture.readers.experiments.readUsageOfTraces(fixture.tenantId, [traceId]);
    expect(usage.get(traceId)).toMatchObject({ cost: 0.0235, promptCost: 0.0225 });
    const { columns } = fixture.readers.traces.readPage(fixture.tenantId, { traceId, limit: 10 });
    expect(
      Object.fromEntries(columns.names.map((name, index) => [name, columns.costs[index]])),
    ).toEqual({
      embedding: 0.02,
      known: 0.0035,
      root: null,
      unknown: null,
    });
  });

  test("are counted in the live view", () => {
    const fixture = new FilterFixture();
    sendTrace(fixture);
    const [activity] = fixture.writers.runs.activity.takeCounts();
    expect(activity?.cost).toBeCloseTo(0.0235, 12);
  });

  test("can be filtered by", () => {
    const fixture = new FilterFixture();
    sendTrace(fixture);
    expect(fixture.find("gt(total_cost, 0.01)")).toEqual(["embedding"]);
  });
});

describe("recomputing the costs of stored runs", () => {
  const recompute = async (
    { writers, tenantId }: FilterFixture,
    mode: "resume" | "continue" = "resume",
  ): Promise<RecomputeProgress> => writers.prices.recompute(tenantId, mode);

  async function recomputeAll(fixture: FilterFixture): Promise<RecomputeProgress> {
    let progress = await recompute(fixture);
    while (!progress.isDone) {
      progress = await recompute(fixture, "continue");
    }
    return progress;
  }

  const tablePrice = {
    rows: [
      {
        model: "gpt-4o",
        provider: null,
        tier: null,
        fromMicros: 0,
        prices: { input: 1, output: 10 },
      },
    ],
    replacesTable: false,
  };

  test("changes what other prices change, and counts it with the unknown models by name", async () => {
    const fixture = new FilterFixture();
    const priced = { ...called("gpt-4o"), ...used(1_000, 100) };
    fixture.send({
      post: [
        llm(priced),
        llm({ ...called("gpt-4o"), ...used(1_000, 100, { total_cost: 7 }) }),
        llm({ ...called("other"), ...used(1, 1) }),
        llm({ ...called("other"), ...used(1, 1) }),
        wireRun(priced),
        llm(),
      ],
    });
    await fixture.writers.prices.set(fixture.tenantId, tablePrice);
    expect(await recomputeAll(fixture)).toEqual({
      position: 6,
      last: 6,
      isDone: true,
      examined: 4,
      changed: 1,
      unreadable: 0,
      unknownModels: { other: 2 },
    });
    const total = toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}));
    expect(total).toMatchObject({ total_cost: 7.002 });
    expect(await recompute(fixture)).toMatchObject({ examined: 4, changed: 0 });
  });

  test("prices runs that were stored by a version without costs", async () => {
    const fixture = new FilterFixture();
    fixture.send({ post: [llm({ ...called("gpt-4o"), ...used(1_000, 100) })] });
    for (const state of ["measured = 2", "measured = 0, prompt_tokens = NULL"]) {
      fixture.db.exec(
        `UPDATE runs SET ${state}, cost_json = NULL, total_cost = NULL, prompt_cost = NULL, completion_cost = NULL`,
      );
      expect(costsOf(fixture)).toEqual(noCosts);
      expect(await recomputeAll(fixture)).toMatchObject({ examined: 1, changed: 1 });
      expect(costsOf(fixture)).toEqual(costs);
    }
  });

  test("continues where it was interrupted, unless prices change", async () => {
    const fixture = new FilterFixture();
    const outputs = used(1_000, 100, { note: "x".repeat(10_000) });
    for (let sent = 0; sent < 30; sent += 1) {
      fixture.send({
        post: Array.from({ length: 100 }, (_, index) =>
          llm({ ...called("gpt-4o"), ...outputs, micros: someMicros + index }),
        ),
      });
    }
    const first = await recompute(fixture);
    expect(first).toMatchObject({ isDone: false, last: 3_000 });
    expect(first.examined).toBe(first.position);
    // A server that starts again has other writers on the same database.
    const { prices } = createWriters(fixture.db);
    const second = await prices.recompute(fixture.tenantId, "resume");
    expect(second.examined).toBe(second.position);
    expect(second.position).toBeGreaterThan(first.position);
    await fixture.writers.prices.set(fixture.tenantId, tablePrice);
    const done = await recomputeAll(fixture);
    expect(done).toMatchObject({ examined: 3_000, changed: 3_000 });
    // A second command that shares the recomputation receives its result.
    expect(await recompute(fixture, "continue")).toEqual(done);
  });

  test("leaves runs of other tenants, and those whose payload is damaged", async () => {
    const fixture = new FilterFixture();
    const other = await fixture.writers.tenants.create({ handle: "other", displayName: "other" });
    const priced = { ...called("gpt-4o"), ...used(1_000, 100) };
    fixture.send({ post: [llm(priced)] });
    fixture.send({ post: [llm(priced)] }, other.id);
    await fixture.writers.prices.set(fixture.tenantId, tablePrice);
    await fixture.writers.prices.set(other.id, tablePrice);
    expect(await recomputeAll(fixture)).toMatchObject({ examined: 1, changed: 1 });
    const otherTotal = toStatsJson(fixture.readers.runs.readStatistics(other.id, {}));
    expect(otherTotal).toMatchObject({ total_cost: 0.0035 });
    fixture.db.exec("UPDATE payloads SET checksum = 1");
    expect(await recompute(fixture)).toMatchObject({ examined: 1, changed: 0, unreadable: 1 });
    expect(toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}))).toMatchObject({
      total_cost: 0.002,
    });
  });
});

test("a database without costs is migrated, and its runs are read as before", async () => {
  const path = join(await temporaryFolder(), "runs.db");
  const before = openWriter(path);
  const tenantId = readDefaultTenantId(before);
  const post = [llm({ ...called("gpt-4o"), ...used(1_000, 100, { total_cost: 7 }) })];
  createWriters(before).runs.apply(
    tenantId,
    parseBatch(Buffer.from(JSON.stringify({ post }))).batch,
  );
  revertToFormat(before, 14);
  before.close();
  const db = openWriter(path);
  onTestFinished(() => db.close());
  const statistics = createReaders(db).runs.readStatistics(tenantId, {});
  expect(toStatsJson(statistics)).toMatchObject({ run_count: 1, total_cost: 7 });
  expect(await createWriters(db).prices.recompute(tenantId, "resume")).toMatchObject({
    examined: 1,
    changed: 0,
  });
});
