import { expect, test } from "vitest";
import { toTrend } from "../feedback-trend.ts";
import type { FeedbackPoint } from "../feedback-trend.ts";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const point = (
  atMicros: number,
  score: number | null,
  value: string | null = null,
): FeedbackPoint => ({
  key: "k",
  atMicros,
  score,
  value,
});
const stretch = { key: "k", fromMicros: 0, toMicros: 100, count: 2 };

test("feedback is grouped into time intervals, each with a mean and a band", () => {
  const points = [point(0, 1), point(49, 0), point(50, 0.5), { ...point(60, 9), key: "other" }];
  const { buckets, keys } = toTrend(points, stretch);
  expect(buckets).toMatchObject([
    { n: 2, mean: 0.5, p10: 0, p90: 1 },
    { n: 1, mean: 0.5 },
  ]);
  expect(keys).toEqual([
    { key: "k", n: 3, mean: 0.5 },
    { key: "other", n: 1, mean: 9 },
  ]);
});

test("a few distinct scores are counted one by one, many in ten equal ranges; each score counts once", () => {
  expect(toTrend([point(1, 1), point(2, 0), point(3, 1)], stretch).histogram).toEqual([
    { from: 0, to: 0, n: 1 },
    { from: 1, to: 1, n: 2 },
  ]);
  const many = Array.from({ length: 101 }, (_, index) => point(1, index / 100));
  const { histogram } = toTrend(many, stretch);
  expect(histogram).toHaveLength(10);
  expect(histogram.reduce((sum, { n }) => sum + n, 0)).toBe(101);
});

test("values are counted per time interval, the eight most frequent of them", () => {
  const points = Array.from({ length: 12 }, (_, index) => point(1, null, `v${Math.min(index, 9)}`));
  const { values, buckets } = toTrend(points, stretch);
  expect(values).toHaveLength(8);
  expect(values[0]).toBe("v9");
  expect(buckets[0]?.values["v9"]).toBe(3);
});

test("a project's feedback over time includes its runs' and its own, and none of other projects", async () => {
  const server = await runServer();
  const [own, foreign] = [wireRun({ session_name: "mine" }), wireRun({ session_name: "other" })];
  await call(server, "POST /runs/batch", { body: { post: [own, foreign] } });
  const session = textOf((await call(server, "GET /sessions?name=mine")).json[0]?.["id"]);
  const given = [
    { run_id: own.id, key: "quality", score: 0.5, created_at: "2026-03-01T12:00:00Z" },
    { run_id: foreign.id, key: "quality", score: 1, created_at: "2026-03-01T12:00:00Z" },
    { session_id: session, key: "quality", score: 0.7, created_at: "2026-03-01T18:00:00Z" },
    { run_id: own.id, key: "tone", value: "kind", created_at: "2026-03-01T12:00:00Z" },
    { run_id: own.id, key: "quality", score: 0, created_at: "2026-02-01T12:00:00Z" },
  ];
  for (const body of given) {
    expect((await call(server, "POST /feedback", { body })).status).toBe(200);
  }
  const range = "from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z&buckets=2";
  const { json } = await call(server, `GET /ui/feedback?session=${session}&key=quality&${range}`);
  expect(json).toMatchObject({
    key: "quality",
    is_complete: true,
    keys: [
      { key: "quality", n: 2 },
      { key: "tone", n: 1 },
    ],
    buckets: [{ n: 0 }, { n: 2, mean: 0.6 }],
  });
  const late = { run_id: own.id, key: "tone", value: "kind", created_at: "2026-03-01T20:00:00Z" };
  await call(server, "POST /feedback", { body: late });
  const more = { ...late, key: "quality", score: 1 };
  await call(server, "POST /feedback", { body: { ...more, created_at: "2026-03-01T10:00:00Z" } });
  const withoutKey = await call(server, `GET /ui/feedback?session=${session}&${range}`);
  expect(withoutKey.json).toMatchObject({ key: "quality", keys: [{ n: 3 }, { n: 2 }] });
  const backwards = "from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z";
  const refused = await call(server, `GET /ui/feedback?session=${session}&${backwards}`);
  expect(refused.status).toBe(422);
});

test("the form of a token has its key, config and whether it has expired, but not the run", async () => {
  const server = await runServer({ apiKeys: ["k"] });
  const headers = { "x-api-key": "k" };
  const run = wireRun();
  await call(server, "POST /runs/batch", { body: { post: [run] }, headers });
  const config = { type: "continuous", min: 0, max: 5 };
  const created = await call(server, "POST /feedback/tokens", {
    body: { run_id: run.id, feedback_key: "quality", feedback_config: config },
    headers,
  });
  const token = textOf(created.json["url"]).split("/").at(-1)!;
  const form = await call(server, `GET /ui/feedback-forms/${token}`);
  expect(form.json).toMatchObject({ key: "quality", config, is_expired: false });
  expect(form.text).not.toContain(run.id);
  expect((await call(server, "GET /ui/feedback-forms/none")).status).toBe(404);
  expect((await call(server, "GET /feedback")).status).toBe(401);
});
