import { minuteMicros, hourMicros } from "../../model/durations.ts";
import { beforeAll, expect, test, vi } from "vitest";
import { checkFilter } from "../../filter/checker.ts";
import { runFields } from "../../filter/fields.ts";
import { loadLibraryPrices } from "../../prices/library-prices.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import { packPosts } from "../../runs/sqlite/post-rows.ts";
import { createWriters } from "../../store/repositories.ts";
import { openWriter } from "../../store/schema.ts";
import { readDefaultTenantId } from "../../storage/sqlite/open-database.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { markLevels } from "../metrics.ts";
import type { MetricQuery, Metrics } from "../metrics.ts";
import { MetricComputer } from "../sqlite/metric-computer.ts";
import { MetricReader } from "../sqlite/metric-reader.ts";

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;

beforeAll(() => loadLibraryPrices());

/** A database with runs of one project, and functions that use it. */
function createStore() {
  const db = openWriter(":memory:");
  const tenantId = readDefaultTenantId(db);
  const writers = createWriters(db);
  const computer = new MetricComputer(db);
  const reader = new MetricReader(db);
  return {
    db,
    tenantId,
    writers,
    send: (post: readonly unknown[]): void => {
      const { batch } = parseBatch(Buffer.from(JSON.stringify({ post })));
      writers.runs.apply(tenantId, packPosts(batch));
    },
    compute: () => computer.compute(0, () => false),
    computeAll: async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        writers.metrics.store(await computer.compute(0, () => false));
      }
      expect(db.prepare("SELECT count(*) FROM metric_marks").raw().all().flat()).toEqual([0]);
    },
    read: (query: Partial<MetricQuery>): Metrics => {
      const [projectId] = db.prepare("SELECT id FROM projects").raw().all().flat();
      return reader.read(tenantId, {
        projectId: String(projectId),
        fromMicros: startMicros,
        toMicros: startMicros + hourMicros,
        widthMicros: 5 * minuteMicros,
        scope: "all",
        groupBy: undefined,
        withinMs: 10_000,
        ...query,
      });
    },
  };
}

/** 1,200 runs, two seconds apart. */
const manyRuns = () =>
  Array.from({ length: 1_200 }, (_, index) =>
    wireRun({ micros: startMicros + index * 2_000_000, session_name: "p", name: "n" }),
  );

test("a filter without enough time counts the latest runs, and says which range is missing", () => {
  const { send, read } = createStore();
  send(manyRuns());
  const filter = { runFilters: [checkFilter('eq(name, "n")', runFields)] };
  expect(read({ filter })).toMatchObject({ all: { total: { runs: 1_200 } }, missing: [] });
  const { all, missing } = read({ filter, withinMs: 0 });
  expect(all.total.runs).toBe(500);
  expect(missing).toEqual([{ fromMicros: startMicros, toMicros: startMicros + 700 * 2_000_000 }]);
});

test("metrics that are not computed yet are missing if their runs can't be read in time", async () => {
  const { send, read, computeAll } = createStore();
  send(manyRuns());
  const { all, missing } = read({ withinMs: 0 });
  expect(all.total.runs).toBe(0);
  expect(missing).toEqual([{ fromMicros: startMicros, toMicros: startMicros + 40 * minuteMicros }]);
  await computeAll();
  expect(read({ withinMs: 0 })).toMatchObject({ all: { total: { runs: 1_200 } }, missing: [] });
});

test("costs that are computed again with other prices change the metrics", async () => {
  const { tenantId, writers, send, read, computeAll } = createStore();
  const usage = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 };
  send([
    wireRun({
      micros: startMicros,
      session_name: "p",
      run_type: "llm",
      extra: { metadata: { ls_model_name: "own-model" } },
      outputs: { usage_metadata: usage },
    }),
  ]);
  await computeAll();
  expect(read({ withinMs: 0 }).all.total).toMatchObject({ runs: 1, tokens: 1_100, cost: 0 });
  const prices = { input: 1, output: 10 };
  const row = { model: "own-model", provider: null, tier: null, fromMicros: 0, prices };
  await writers.prices.set(tenantId, { rows: [row], replacesTable: false });
  expect(await writers.prices.recompute(tenantId, "resume")).toMatchObject({ changed: 1 });
  expect(read({}).all.total.cost).toBe(0.002);
  await computeAll();
  expect(read({ withinMs: 0 }).all.total.cost).toBe(0.002);
});

test("while runs arrive at full speed, nothing is computed", async () => {
  const { send, compute } = createStore();
  expect(await compute()).toEqual([]);
  send(manyRuns());
  expect(await compute()).toEqual([]);
  expect((await compute()).length).toBeGreaterThan(0);
});

test("a step computes something even if its time is over at once", async () => {
  const { db, send, compute } = createStore();
  send(manyRuns());
  await compute();
  // A day is listed before hours that were never counted, and can't be merged before them.
  db.exec(`UPDATE metric_marks SET level = ${markLevels.day}, unit = unit / 1440
      WHERE unit = (SELECT max(unit) FROM metric_marks);
    UPDATE OR REPLACE metric_marks SET level = ${markLevels.unreadHour}, unit = unit / 60
      WHERE level = ${markLevels.minute}`);
  let nowMs = performance.now();
  const now = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 1_000));
  try {
    expect((await compute()).map(({ mark }) => mark.level)).toEqual([markLevels.unreadHour]);
  } finally {
    now.mockRestore();
  }
});

test("metrics are dropped if their minute has changed while they were computed", async () => {
  const { writers, send, read, compute, computeAll } = createStore();
  const [first, second] = [manyRuns().slice(0, 1), manyRuns().slice(0, 1)];
  send(first);
  const outdated = await compute();
  send(second);
  writers.metrics.store(outdated);
  expect(read({}).all.total.runs).toBe(2);
  await computeAll();
  expect(read({ withinMs: 0 }).all.total.runs).toBe(2);
});
