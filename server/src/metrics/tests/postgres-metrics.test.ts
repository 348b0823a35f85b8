import { dayMicros, hourMicros, minuteMicros } from "../../model/durations.ts";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { querySql, testServerUrl } from "../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../tests/support/postgres-stores.ts";
import { openPglite, openRunStore } from "../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../tests/support/postgres-run-store.ts";
import { patchOf, StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import type { Store } from "../../store/store.ts";
import type { MetricQuery, Metrics } from "../metrics.ts";
import { PostgresMetricCounter } from "../postgres/metric-counter.ts";
import { metricTables } from "../postgres/metric-tables.ts";

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;
const day = { fromMicros: startMicros - (startMicros % dayMicros), widthMicros: dayMicros };

const dayQuery: Omit<MetricQuery, "projectId"> = {
  ...day,
  toMicros: day.fromMicros + dayMicros,
  scope: "all",
  groupBy: "name",
  withinMs: 60_000,
};

describe("stored metrics in PostgreSQL", () => {
  let client: PgliteClient;
  let store: PostgresRunStore;
  let counter: PostgresMetricCounter;
  beforeAll(async () => {
    client = await openPglite();
    store = openRunStore(client);
    counter = new PostgresMetricCounter(store.db);
  }, 60_000);
  afterAll(() => client.close());

  const countAll = async (): Promise<void> => {
    let isDone = false;
    while (!isDone) {
      isDone = !(await store.transact(() => counter.count(0)));
    }
  };
  const findProject = async (tenantId: string, name: string): Promise<string> => {
    const [project] = await store.read.projects.list(tenantId, { name, limit: 1, offset: 0 });
    return project?.id ?? "";
  };
  const listSums = async (tenantId: string): Promise<readonly string[]> => {
    const { rows } = await store.db.query<{ readonly sums: string }>(
      `SELECT encode(body, 'escape') AS sums FROM metrics WHERE tenant_id = $1`,
      [tenantId],
    );
    return rows.map(({ sums }) => sums);
  };

  test("are read without any run that is counted in them", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    await fixture.send({
      post: [wireRun({ micros: startMicros, session_name: "p", name: "ask" })],
    });
    await countAll();
    // Without time for reading runs, only the sums are left.
    const query = { ...dayQuery, projectId: await findProject(tenantId, "p"), withinMs: -1 };
    const { all, groups, missing } = await store.read.metrics.read(tenantId, query);
    expect(missing).toEqual([]);
    expect(all.total.runs).toBe(1);
    expect(groups.map(({ value }) => value)).toEqual(["ask"]);
  });

  test("give the run list its counts; only runs that are not in them are counted", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    // Every 50 minutes for three days, from the middle of the first: every second run is a child, every third fails.
    const starts = Array.from(
      { length: 86 },
      (_, index) => startMicros + index * 50 * minuteMicros,
    );
    const root = wireRun({ micros: startMicros, session_name: "p", error: "no" });
    const runs = starts.map((micros, index) =>
      index === 0
        ? root
        : wireRun({
            micros,
            session_name: "p",
            ...(index % 3 === 0 && { error: "no" }),
            ...(index % 2 === 1 && { parent: root }),
          }),
    );
    await fixture.send({ post: runs.slice(0, -1) });
    await countAll();
    // The last run, and the patch of an earlier one, are not in the stored counts.
    await fixture.send({ post: runs.slice(-1), patch: [patchOf(runs[40]!, { error: "late" })] });
    const failed = starts.map((_, index) => index % 3 === 0 || index === 40);
    const projectId = await findProject(tenantId, "p");
    const query = vi.spyOn(store.db, "query");
    for (const widthMicros of [10_000_000, minuteMicros, 3 * hourMicros, 2 * dayMicros]) {
      for (const isRoot of [undefined, true, false]) {
        // From the second run on, and up to the last one.
        const [fromMicros, toMicros] = [starts[1]!, starts.at(-1)!];
        const expected = new Map<number, { runs: number; errors: number }>();
        starts.forEach((micros, index) => {
          if (index > 0 && (isRoot === undefined || isRoot === (index % 2 === 0))) {
            const start = Math.floor(micros / widthMicros) * widthMicros;
            const { runs: count = 0, errors = 0 } = expected.get(start) ?? {};
            expected.set(start, { runs: count + 1, errors: errors + Number(failed[index]) });
          }
        });
        const counts = await store.read.runLists.countRuns(tenantId, {
          projectId,
          isRoot,
          fromMicros,
          toMicros,
          widthMicros,
        });
        expect(counts).toEqual(
          [...expected].map(([start, count]) => ({ startMicros: start, ...count })),
        );
      }
    }
    const countedMicros = query.mock.calls
      .filter(([sql]) => sql.includes("sum(r.has_error)"))
      .map(([, values = []]) => {
        const [, , from, to] = values as [string, string, readonly number[], readonly number[]];
        return to.reduce((sum, end, index) => sum + end - (from[index] ?? 0), 0);
      });
    // Three queries of each width. Of intervals of ten seconds, no counts are stored.
    expect(countedMicros[0]).toBeGreaterThan(2 * dayMicros);
    expect(countedMicros[3]).toBeLessThan(5 * minuteMicros);
    expect(countedMicros[6]).toBeLessThan(3 * hourMicros);
    expect(countedMicros[9]).toBeLessThan(2 * dayMicros);
  });

  test("contain the values of a deleted run no more, at once", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    const run = wireRun({ micros: startMicros, session_name: "p", name: "secret-name" });
    const kept = wireRun({
      micros: startMicros + 5 * minuteMicros,
      session_name: "p",
      name: "kept",
    });
    await fixture.send({ post: [run, kept] });
    await countAll();
    expect((await listSums(tenantId)).filter((sums) => sums.includes("secret-name"))).toHaveLength(
      3,
    );
    await store.write.runs.deleteTrees(tenantId, [run.id]);
    expect((await listSums(tenantId)).filter((sums) => sums.includes("secret-name"))).toEqual([]);
    const projectId = await findProject(tenantId, "p");
    const read = async (): Promise<Metrics> =>
      store.read.metrics.read(tenantId, { ...dayQuery, projectId });
    expect((await read()).all.total.runs).toBe(1);
    await countAll();
    expect((await read()).groups.map(({ value, total }) => [value, total.runs])).toEqual([
      ["kept", 1],
    ]);
  });

  test("follow runs to another minute and another project, and a change of their cost", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    const call = wireRun({
      micros: startMicros,
      session_name: "first",
      run_type: "llm",
      outputs: { usage_metadata: { input_tokens: 5, output_tokens: 1, total_tokens: 6 } },
    });
    await fixture.send({ post: [call], patch: [] });
    await fixture.send({ post: [wireRun({ micros: startMicros, session_name: "second" })] });
    await countAll();
    const [first, second] = [
      await findProject(tenantId, "first"),
      await findProject(tenantId, "second"),
    ];
    const total = async (projectId: string) =>
      (await store.read.metrics.read(tenantId, { ...dayQuery, projectId })).all.total;
    expect([(await total(first)).runs, (await total(second)).runs]).toEqual([1, 1]);
    await store.transact(async () => {
      await store.db.query(
        "UPDATE runs SET project_id = $3, start_us = start_us + 3600000000, total_cost = 0.25 WHERE tenant_id = $1 AND id = $2",
        [tenantId, call.id, second],
      );
    });
    for (const _round of ["before", "after"]) {
      expect(await total(first)).toMatchObject({ runs: 0, tokens: 0, cost: 0 });
      expect(await total(second)).toMatchObject({ runs: 2, tokens: 6, cost: 0.25 });
      await countAll();
    }
  });

  test("are deleted with their project", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    await fixture.send({ post: [wireRun({ micros: startMicros, session_name: "gone" })] });
    await countAll();
    expect(await listSums(tenantId)).not.toEqual([]);
    await store.write.projects.deleteMany(tenantId, [await findProject(tenantId, "gone")]);
    await countAll();
    expect(await listSums(tenantId)).toEqual([]);
    const { rows } = await store.db.query("SELECT unit FROM metric_marks WHERE tenant_id = $1", [
      tenantId,
    ]);
    expect(rows).toEqual([]);
  });

  test("are not read by another tenant", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    await fixture.send({ post: [wireRun({ micros: startMicros, session_name: "p" })] });
    const projectId = await findProject(fixture.tenantId, "p");
    await countAll();
    const { all } = await store.read.metrics.read(randomUUID(), { ...dayQuery, projectId });
    expect(all.total.runs).toBe(0);
  });

  test("are counted after all when a database without them is brought up to date", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    await fixture.send({
      post: [0, 1, 61, 1_500].map((minute) =>
        wireRun({
          micros: startMicros + minute * minuteMicros,
          session_name: "old",
          name: `${minute}`,
        }),
      ),
    });
    const projectId = await findProject(tenantId, "old");
    await client.exec(
      `DROP TABLE metrics, metric_marks; DROP FUNCTION mark_metrics CASCADE; DROP FUNCTION delete_metrics CASCADE;
       BEGIN; ${metricTables}; COMMIT`,
    );
    const query = { ...dayQuery, toMicros: day.fromMicros + 2 * dayMicros, projectId };
    const before = await store.read.metrics.read(tenantId, query);
    await countAll();
    const { rows } = await store.db.query("SELECT unit FROM metric_marks");
    expect(rows).toEqual([]);
    const after = await store.read.metrics.read(tenantId, { ...query, withinMs: -1 });
    expect(before.all.points.map(({ runs }) => runs)).toEqual([3, 1]);
    expect(after).toEqual(before);
  });

  test("are counted again, once, if an earlier version has counted them", async () => {
    const fixture = new StoreFixture(store, randomUUID());
    const { tenantId } = fixture;
    await fixture.send({
      post: [0, 1, 61, 1_500].map((minute) =>
        wireRun({ micros: startMicros + minute * minuteMicros, session_name: "old" }),
      ),
    });
    await countAll();
    const projectId = await findProject(tenantId, "old");
    const query = {
      ...dayQuery,
      toMicros: day.fromMicros + 2 * dayMicros,
      projectId,
      withinMs: -1,
    };
    const counted = await store.read.metrics.read(tenantId, query);
    expect(counted.all.points.map(({ runs }) => runs)).toEqual([3, 1]);
    // An empty body takes the place of what the earlier version has counted.
    const forget = (): Promise<unknown> => client.exec("UPDATE metrics SET body = ''");
    await forget();
    await countAll();
    expect((await store.read.metrics.read(tenantId, query)).all.total.runs).toBe(0);
    await client.exec("DELETE FROM settings WHERE key = 'metrics_version'");
    // Another counter, because each looks only once.
    counter = new PostgresMetricCounter(store.db);
    await countAll();
    expect(await store.read.metrics.read(tenantId, query)).toEqual(counted);
    await forget();
    counter = new PostgresMetricCounter(store.db);
    await countAll();
    expect((await store.read.metrics.read(tenantId, query)).all.total.runs).toBe(0);
  });
});

describe.skipIf(testServerUrl === undefined)("metrics of several servers", () => {
  let servers: PostgresStores;
  let stores: readonly Store[];
  beforeAll(async () => {
    servers = await PostgresStores.create();
    stores = [await servers.open(), await servers.open()];
  }, 60_000);
  afterAll(() => servers.close());

  test("are right while all of them write, and when everything is counted", async () => {
    const [store] = stores;
    if (store === undefined) {
      throw new Error("no server was opened");
    }
    const { id: tenantId } = await store.write.tenants.create({ handle: null, displayName: "t" });
    const fixtures = stores.map((opened) => new StoreFixture(opened, tenantId));
    const runs = Array.from({ length: 400 }, (_, index) =>
      wireRun({
        micros: startMicros + (index % 4) * minuteMicros + index,
        session_name: "shared",
        name: `n${index % 3}`,
      }),
    );
    // Each server receives all runs, in batches of its own order; then all patches.
    const sendAll = async (kind: "post" | "patch", list: readonly unknown[]): Promise<void> => {
      await Promise.all(
        fixtures.flatMap((fixture, place) => {
          const ordered = place === 0 ? list : list.toReversed();
          return Array.from({ length: ordered.length / 40 }, (_, index) =>
            fixture.send({ [kind]: ordered.slice(index * 40, (index + 1) * 40) }),
          );
        }),
      );
    };
    await sendAll("post", runs);
    const [project] = await store.read.projects.list(tenantId, {
      name: "shared",
      limit: 1,
      offset: 0,
    });
    const query = { ...dayQuery, projectId: project?.id ?? "" };
    const read = (): Promise<Metrics> => store.read.metrics.read(tenantId, query);
    expect((await read()).all.total).toMatchObject({ runs: 400, errors: 0 });
    const failed = runs.filter((_run, index) => index % 2 === 0);
    await sendAll(
      "patch",
      failed.map((run) => patchOf(run, { error: "no" })),
    );
    expect((await read()).all.total).toMatchObject({ runs: 400, errors: 200 });
    const countMarks = async (): Promise<unknown> =>
      (
        await querySql(servers.database.adminUrl, [
          "SELECT count(*)::int AS marks FROM metric_marks",
        ])
      )[0]?.["marks"];
    await expect.poll(countMarks, { timeout: 60_000, interval: 250 }).toBe(0);
    const counted = await store.read.metrics.read(tenantId, { ...query, withinMs: -1 });
    expect(counted.missing).toEqual([]);
    expect(counted.all.total).toMatchObject({ runs: 400, errors: 200 });
    expect(counted.groups.map(({ value, total }) => [value, total.runs])).toEqual([
      ["n0", 134],
      ["n1", 133],
      ["n2", 133],
    ]);
  }, 120_000);
});
