import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { hourMicros, minuteMicros } from "../../model/durations.ts";
import { createMetricEngines } from "./metric-engines.ts";
import type { MetricDatabase } from "./metric-engines.ts";

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;

const toIso = (micros: number): string => new Date(micros / 1_000).toISOString();

/** A run that starts some minutes after the first one and takes a second. */
const runAt = (minute: number, fields: Readonly<Record<string, unknown>>) => {
  const micros = startMicros + minute * minuteMicros;
  return wireRun({ micros, end_time: toIso(micros + 1_000_000), ...fields });
};

const query = {
  fromMicros: startMicros,
  toMicros: startMicros + hourMicros,
  widthMicros: 30 * minuteMicros,
  scope: "traces",
  withinMs: 60_000,
  maxMs: 60_000,
  maxProjects: 10,
  countsOwnProjects: false,
} as const;

describe.each(createMetricEngines())("on $name", ({ open }) => {
  let database: MetricDatabase;

  beforeAll(async () => {
    database = await open();
  }, 120_000);

  afterAll(async () => database.close());

  test("all projects are added up, before and after their metrics were stored; those without runs are left out", async () => {
    const engine = await database.createEngine();
    const other = await database.createEngine();
    await other.send({ post: [runAt(3, { session_name: "a" })] });
    await engine.send({
      post: [
        runAt(3, { session_name: "a", error: "no" }),
        runAt(40, { session_name: "a" }),
        runAt(5, { session_name: "b" }),
        runAt(-30, { session_name: "b" }),
        runAt(-30, { session_name: "quiet" }),
        runAt(-3 * 24 * 60, { session_name: "older" }),
      ],
    });
    const live = await engine.readOverview(query);
    expect(live.all.total).toMatchObject({ runs: 3, errors: 1 });
    expect(live.all.previous.runs).toBe(2);
    expect(live.all.points.map(({ runs }) => runs)).toEqual([2, 1]);
    expect(live.all.total.latency.p50).not.toBeNull();
    expect(
      live.projects.map(({ total, runs, previousRuns }) => [
        [total.runs, total.errors],
        runs,
        previousRuns,
      ]),
    ).toEqual([
      [
        [2, 1],
        [1, 1],
        [0, 0],
      ],
      [
        [1, 0],
        [1, 0],
        [0, 1],
      ],
      [
        [0, 0],
        [0, 0],
        [0, 1],
      ],
    ]);
    expect([live.missing, live.isPartial]).toEqual([[], false]);
    await engine.computeAll();
    expect(await engine.readOverview(query)).toEqual(live);
    await engine.close();
    await other.close();
  }, 60_000);

  test("traces have the first token of any of their runs, before and after it was stored", async () => {
    const engine = await database.createEngine();
    const root = runAt(3, { session_name: "a" });
    const [slow, fast, own] = [900, 400, 5_000].map((milliseconds) => [
      { name: "new_token", time: toIso(startMicros + 3 * minuteMicros + milliseconds * 1_000) },
    ]);
    await engine.send({ post: [root, runAt(3, { session_name: "b", events: own })] });
    await engine.computeAll();
    const readFirstTokens = async () => {
      const { all, projects } = await engine.readOverview(query);
      return [
        all.total.firstToken.p50,
        all.points[0]?.firstToken.p95,
        ...projects.map(({ total }) => total.firstToken.p50),
      ];
    };
    const close = (micros: number): unknown => expect.closeTo(micros, -Math.log10(micros * 0.04));
    expect(await readFirstTokens()).toEqual([
      close(5_000_000),
      close(5_000_000),
      null,
      close(5_000_000),
    ]);
    // The children arrive when the minute of the root has been counted; the second is no model call.
    const parent = root;
    const modelCall = runAt(4, { session_name: "a", parent, run_type: "llm", events: slow });
    await engine.send({ post: [modelCall] });
    await engine.computeAll();
    expect(await readFirstTokens()).toEqual([
      close(900_000),
      close(5_000_000),
      close(900_000),
      close(5_000_000),
    ]);
    await engine.send(
      { post: [runAt(4, { session_name: "a", parent, events: fast })] },
      { isGrouped: true },
    );
    const counted = [close(400_000), close(5_000_000), close(400_000), close(5_000_000)];
    expect(await readFirstTokens()).toEqual(counted);
    await engine.computeAll();
    expect(await readFirstTokens()).toEqual(counted);
    await engine.close();
  }, 60_000);

  test("the calls of the playground and of judges are left out of the totals unless they are wanted", async () => {
    const engine = await database.createEngine();
    await engine.send({
      post: ["app", "evaluators", "playground", "playground 2"].map((name) =>
        runAt(3, { session_name: name }),
      ),
    });
    const overview = await engine.readOverview(query);
    expect(overview.all.total.runs).toBe(2);
    expect(overview.all.points.map(({ runs }) => runs)).toEqual([2, 0]);
    // In the order of their names: app, evaluators, playground 2, playground.
    expect(overview.projects.map(({ isCounted }) => isCounted)).toEqual([true, false, true, false]);
    expect(overview.projects.map(({ total }) => total.runs)).toEqual([1, 1, 1, 1]);
    const whole = await engine.readOverview({ ...query, countsOwnProjects: true });
    expect(whole.all.total.runs).toBe(4);
    expect(whole.projects.every(({ isCounted }) => isCounted)).toBe(true);
    await engine.close();
  }, 60_000);

  test("what is not read in time, or is too much, is reported", async () => {
    const engine = await database.createEngine();
    await engine.send({
      post: [runAt(3, { session_name: "a" }), runAt(5, { session_name: "b" })],
    });
    const late = await engine.readOverview({ ...query, maxMs: -1 });
    expect([late.projects, late.isPartial]).toEqual([[], true]);
    const limited = await engine.readOverview({ ...query, maxProjects: 1 });
    expect([limited.all.total.runs, limited.projects.length, limited.isPartial]).toEqual([
      1,
      1,
      true,
    ]);
    const unread = await engine.readOverview({ ...query, withinMs: -1 });
    expect(unread.all.total.runs).toBe(0);
    expect(unread.missing).toEqual([
      {
        fromMicros: startMicros + 5 * minuteMicros,
        toMicros: startMicros + 6 * minuteMicros,
      },
      {
        fromMicros: startMicros + 3 * minuteMicros,
        toMicros: startMicros + 4 * minuteMicros,
      },
    ]);
    await engine.close();
  }, 60_000);
});

test("the overview has the figures of each project, and no experiments", async () => {
  const server = await runServer();
  const dataset = await call(server, "POST /datasets", { body: { name: "overview" } });
  const experiment = await call(server, "POST /sessions", {
    body: { name: "an experiment", reference_dataset_id: textOf(dataset.json["id"]) },
  });
  expect(experiment.status).toBe(200);
  const post = [
    runAt(3, { session_name: "shown", error: "no" }),
    runAt(3, { session_name: "an experiment" }),
  ];
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const range = `from=${toIso(startMicros)}&to=${toIso(query.toMicros)}`;
  const { json, status } = await call(server, `GET /ui/overview?${range}`);
  expect(status).toBe(200);
  const overview = json as unknown as {
    readonly all: { readonly total: unknown };
    readonly projects: readonly { readonly id: string; readonly total: unknown }[];
  };
  expect(json).toMatchObject({ width_ms: 60_000, missing: [], is_partial: false });
  expect(overview.all.total).toMatchObject({ runs: 1, errors: 1, tokens: 0, cost: 0 });
  const shown = await call(server, "GET /sessions?name=shown");
  expect(overview.projects.map(({ id }) => id)).toEqual([shown.json[0]?.["id"]]);
  const playground = [runAt(3, { session_name: "playground" })];
  await call(server, "POST /runs/batch", { body: { post: playground } });
  const readRuns = async (choice: string): Promise<unknown> =>
    (await call(server, `GET /ui/overview?${range}${choice}`)).json["all"];
  expect(await readRuns("")).toMatchObject({ total: { runs: 1 } });
  expect(await readRuns("&own_projects=true")).toMatchObject({ total: { runs: 2 } });
  const refused = await call(server, `GET /ui/overview?${range}&scope=some`);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("scope must be")]);
});
