import { minuteMicros } from "../../model/durations.ts";
import { join } from "node:path";
import { expect, test } from "vitest";
import { databaseFileName } from "../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { formatMigrations, openWriter } from "../../store/schema.ts";
import {
  call,
  runOwnServer,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { revertToFormat } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { traceFirstTokenMarks } from "../sqlite/metric-tables.ts";

type Server = Awaited<ReturnType<typeof runServer>>;

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;

const toIso = (micros: number): string => new Date(micros / 1_000).toISOString();

/** A run that starts some minutes after the first one and takes a second. */
const runAt = (minute: number, fields: Readonly<Record<string, unknown>> = {}) => {
  const micros = startMicros + minute * minuteMicros;
  return wireRun({
    micros,
    session_name: "measured",
    end_time: toIso(micros + 1_000_000),
    ...fields,
  });
};

interface Values {
  readonly runs: number;
  readonly errors: number;
  readonly tokens: number;
  readonly cost: number;
  readonly latency_ms: { readonly p50: number | null };
  readonly first_token_ms: { readonly p50: number | null };
}

interface MetricsJson {
  readonly width_ms: number;
  readonly from: string;
  readonly all: {
    readonly total: Values;
    readonly previous: Values;
    readonly points: { readonly runs: readonly number[] };
  };
  readonly groups: readonly {
    readonly kind: string;
    readonly value: string;
    readonly total: Values;
    readonly previous: Values;
    readonly previous_points: { readonly runs: readonly number[] };
  }[];
  readonly missing: readonly { readonly from: string; readonly to: string }[];
}

async function send(server: Server, post: readonly unknown[]): Promise<string> {
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const { json } = await call(server, "GET /sessions?name=measured");
  return textOf(json[0]?.["id"]);
}

const pathOf = (session: string, parameters: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams({
    session,
    from: toIso(startMicros),
    to: toIso(startMicros + 60 * minuteMicros),
    ...parameters,
  });
  return `/ui/metrics?${query.toString()}`;
};

async function readMetrics(
  server: Server,
  session: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<MetricsJson> {
  const { json, status } = await call(server, `GET ${pathOf(session, parameters)}`);
  expect(status).toBe(200);
  return json as unknown as MetricsJson;
}

/** The numbers of runs by value. */
const countsOf = ({ groups }: MetricsJson) =>
  Object.fromEntries(
    groups.map(({ kind, value, total }) => [kind === "value" ? value : kind, total.runs]),
  );

test("metrics have counts, errors, durations and usage, per group and of the period before", async () => {
  const server = await runServer();
  const root = runAt(3, {
    name: "ask",
    tags: ["eu"],
    error: "no",
    extra: { metadata: { user_id: "eve" } },
  });
  const model = runAt(3, {
    parent: root,
    run_type: "llm",
    name: "model",
    extra: { metadata: { ls_model_name: "m-1", user_id: "ann" } },
    events: [{ name: "new_token", time: toIso(startMicros + 3 * minuteMicros + 200_000) }],
    outputs: {
      usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7, total_cost: 0.5 },
    },
  });
  const before = runAt(-30, { name: "ask" });
  const extra = { metadata: { langfuse_user_id: "ben" } };
  const session = await send(server, [root, model, before, runAt(59, { name: "other", extra })]);
  const traces = await readMetrics(server, session, { group: "name" });
  expect(traces.width_ms).toBe(60_000);
  expect(traces.all.points.runs).toHaveLength(60);
  expect(traces.all.points.runs[3]).toBe(1);
  expect(traces.all.total).toMatchObject({ runs: 2, errors: 1, tokens: 7, cost: 0.5 });
  expect(traces.all.previous.runs).toBe(1);
  expect(countsOf(traces)).toEqual({ ask: 1, other: 1 });
  expect(traces.groups[0]?.previous.runs).toBe(1);
  const previousRuns = traces.groups.map(({ previous_points: points }) => points.runs);
  expect(previousRuns.map((runs) => [runs.length, runs.indexOf(1)])).toEqual([
    [60, 30],
    [60, -1],
  ]);
  const models = await readMetrics(server, session, { group: "model", scope: "models" });
  expect(models.groups).toHaveLength(1);
  expect(models.groups[0]).toMatchObject({
    value: "m-1",
    total: { runs: 1, tokens: 7, cost: 0.5 },
  });
  const { latency_ms: latency, first_token_ms: firstToken } = models.all.total;
  expect(Math.abs((latency.p50 ?? 0) - 1_000)).toBeLessThanOrEqual(20);
  expect(Math.abs((firstToken.p50 ?? 0) - 200)).toBeLessThanOrEqual(4);
  // The model call was streamed, so the trace of eve has a first token. The trace of ben has none.
  for (const parameters of [{}, { filter: "eq(is_root, true)" }]) {
    const users = await readMetrics(server, session, { group: "user", ...parameters });
    const firstTokens = users.groups.map(({ value, total }) => [value, total.first_token_ms.p50]);
    expect(firstTokens).toEqual([
      ["ben", null],
      ["eve", expect.closeTo(200, -1)],
      ["", null],
    ]);
    expect(users.all.total.first_token_ms.p50).toBe(firstTokens[1]?.[1]);
  }
  expect(countsOf(await readMetrics(server, session, { group: "user", scope: "all" }))).toEqual({
    ann: 1,
    ben: 1,
    eve: 1,
    // The run of the period before has no user.
    none: 0,
  });
  expect(countsOf(await readMetrics(server, session, { group: "status" }))).toEqual({
    error: 1,
    success: 1,
  });
});

test("a filter counts only the runs that match it", async () => {
  const server = await runServer();
  const session = await send(server, [
    runAt(1, { name: "a", extra: { metadata: { plan: "pro" } } }),
    runAt(2, { name: "b", extra: { metadata: { plan: "free" } } }),
    runAt(3, { name: "b" }),
  ]);
  const parameters = { group: "name", filter: 'eq(metadata.plan, "free")' };
  const metrics = await readMetrics(server, session, parameters);
  expect(countsOf(metrics)).toEqual({ b: 1 });
  expect(metrics.missing).toEqual([]);
});

test.each([
  [{ from: "soon" }, "from is neither an ISO 8601 time"],
  [{ from: "2026-04-01T00:00:00Z" }, "to must be after from"],
  [{ from: "2020-01-01T00:00:00Z" }, "by at most 366 days"],
  [{ group: "color" }, "group must be one of status, name, model, tag, user"],
  [{ scope: "some" }, "scope must be one of traces, models, all"],
  [{ filter: "eq(name" }, "filter: "],
])("%j is refused with a reason", async (parameters, reason) => {
  const server = await runServer();
  const session = await send(server, [runAt(0)]);
  const { status, text } = await call(server, `GET ${pathOf(session, parameters)}`);
  expect(status).toBe(422);
  expect(text).toContain(reason);
});

/** The number of rows of a table in the database of a server. */
function countRows(folder: string, table: "metrics" | "metric_marks"): number {
  const db = openDatabase(join(folder, databaseFileName));
  const count = Number(db.prepare(`SELECT count(*) FROM ${table}`).raw().all().flat()[0]);
  db.close();
  return count;
}

test("a thread stores the metrics in the background, and the response stays the same", async () => {
  const folder = await temporaryFolder();
  const server = await runOwnServer({ dataDir: folder });
  const post = Array.from({ length: 300 }, (_, index) =>
    runAt(index % 60, { name: `n${index % 7}`, error: index % 5 === 0 ? "no" : null }),
  );
  const session = await send(server, post);
  const read = () => readMetrics(server, session, { group: "name" });
  // On a busy machine, reading the runs may take longer than a request may.
  await expect.poll(async () => (await read()).missing, { timeout: 20_000 }).toEqual([]);
  const live = await read();
  expect(live.all.total).toMatchObject({ runs: 300, errors: 60 });
  await expect.poll(() => countRows(folder, "metric_marks"), { timeout: 30_000 }).toBe(0);
  expect(countRows(folder, "metrics")).toBeGreaterThan(60);
  expect(await readMetrics(server, session, { group: "name" })).toEqual(live);
  await call(server, `DELETE /sessions/${session}`);
  expect(countRows(folder, "metrics")).toBe(0);
}, 60_000);

test("spans that move their run to another project or time are counted where they are", async () => {
  const server = await runServer();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const spanOf = (spanId: string, parentSpanId: string | undefined, minute: number) => ({
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: `span ${spanId}`,
    startTimeUnixNano: `${startMicros + minute * minuteMicros}000`,
    endTimeUnixNano: `${startMicros + minute * minuteMicros + 1_000_000}000`,
  });
  const sendSpans = async (spans: readonly object[], resource: readonly object[]) => {
    const body = {
      resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ spans }] }],
    };
    const headers = { "content-type": "application/json" };
    const { status } = await call(server, "POST /otel/v1/traces", { body, headers });
    expect(status).toBe(200);
  };
  const project = [{ key: "langsmith.project", value: { stringValue: "measured" } }];
  await sendSpans([spanOf("b7ad6b7169203331", "00f067aa0ba902b7", 5)], []);
  await sendSpans([spanOf("b7ad6b7169203332", "b7ad6b7169203331", 6)], []);
  await sendSpans([spanOf("00f067aa0ba902b7", undefined, 4)], project);
  const { json } = await call(server, "GET /sessions");
  const sessions = (json as unknown as readonly { readonly id: string }[]).map(({ id }) => id);
  let counted = 0;
  for (const session of sessions) {
    const { all } = await readMetrics(server, session, { scope: "all" });
    const body = { session: [session], limit: 100 };
    const { json: page } = await call(server, "POST /runs/query", { body });
    expect(all.total.runs).toBe((page["runs"] as unknown as readonly unknown[]).length);
    counted += all.total.runs;
  }
  expect(counted).toBe(3);
});

test("the metrics of a database of the format before are computed in the background", async () => {
  const folder = await temporaryFolder();
  const first = await runOwnServer({ dataDir: folder });
  const session = await send(first, [runAt(1), runAt(2), runAt(200)]);
  await first.close();
  const path = join(folder, databaseFileName);
  const db = openDatabase(path);
  revertToFormat(db, 15);
  db.close();
  openWriter(path).close();
  expect(countRows(folder, "metric_marks")).toBe(2);
  const second = await runOwnServer({ dataDir: folder });
  expect((await readMetrics(second, session)).all.total.runs).toBe(2);
  await expect.poll(() => countRows(folder, "metric_marks"), { timeout: 30_000 }).toBe(0);
  expect((await readMetrics(second, session)).all.total.runs).toBe(2);
  const day = { to: toIso(startMicros + 30 * 24 * 60 * minuteMicros) };
  expect((await readMetrics(second, session, day)).all.total.runs).toBe(3);
}, 60_000);

test("metrics that an earlier version has counted are counted again, once", async () => {
  const folder = await temporaryFolder();
  const first = await runOwnServer({ dataDir: folder });
  const root = runAt(1);
  const time = toIso(startMicros + minuteMicros + 300_000);
  const child = runAt(1, { parent: root, run_type: "llm", events: [{ name: "new_token", time }] });
  const session = await send(first, [root, child, runAt(200)]);
  await expect.poll(() => countRows(folder, "metric_marks"), { timeout: 30_000 }).toBe(0);
  const day = {
    from: "2026-03-01T00:00:00Z",
    to: "2026-04-30T00:00:00Z",
  };
  const counted = await readMetrics(first, session, day);
  expect(counted.all.total.first_token_ms.p50).toBeCloseTo(300, -1);
  await first.close();
  // The format before this one. An empty body takes the place of the counts, to prove that they are not used.
  const db = openDatabase(join(folder, databaseFileName));
  revertToFormat(db, formatMigrations.indexOf(traceFirstTokenMarks));
  db.exec("UPDATE metrics SET body = x''");
  db.close();
  openWriter(join(folder, databaseFileName)).close();
  expect(countRows(folder, "metric_marks")).toBe(2);
  const second = await runOwnServer({ dataDir: folder });
  expect(await readMetrics(second, session, day)).toEqual(counted);
  await expect.poll(() => countRows(folder, "metric_marks"), { timeout: 30_000 }).toBe(0);
  expect(await readMetrics(second, session, day)).toEqual(counted);
  await second.close();
  openWriter(join(folder, databaseFileName)).close();
  expect(countRows(folder, "metric_marks")).toBe(0);
}, 60_000);
