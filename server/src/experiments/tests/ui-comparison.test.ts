import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

interface CallResult {
  readonly text: string;
  readonly score?: number;
  readonly error?: string;
}

/** Runs an experiment on some examples; several outputs mean repetitions. */
async function runExperiment(
  fixture: DatasetFixture,
  name: string,
  responses: Readonly<Record<string, readonly CallResult[]>>,
): Promise<{ readonly id: string; readonly runIds: readonly string[] }> {
  const created = await fixture.call("POST /sessions", {
    body: { name, reference_dataset_id: fixture.id },
  });
  const given = Object.entries(responses).flatMap(([exampleId, list]) =>
    list.map((response) => ({ exampleId, ...response })),
  );
  const runs = given.map(({ exampleId, text, error }, index) => ({
    ...wireRun({ micros: someMicros + index * 1_000_000 }),
    session_name: name,
    reference_example_id: exampleId,
    inputs: {},
    outputs: { text },
    end_time: (someMicros + index * 1_000_000 + 250_000) / 1_000,
    ...(error === undefined ? {} : { error }),
  }));
  await fixture.call("POST /runs/batch", { body: { post: runs, patch: [] } });
  for (const [index, { score }] of given.entries()) {
    if (score !== undefined) {
      const body = { run_id: runs[index]?.id, key: "right", score };
      await fixture.call("POST /feedback", { body });
    }
  }
  return { id: textOf(created.json["id"]), runIds: runs.map(({ id }) => id) };
}

async function makeScene() {
  const fixture = await DatasetFixture.open();
  const one = await fixture.add({ inputs: { q: 1 } });
  const two = await fixture.add({ inputs: { q: 2 } });
  const base = await runExperiment(fixture, "base", {
    [one]: [{ text: "good", score: 1 }],
    [two]: [{ text: "bad", score: 0 }],
  });
  const other = await runExperiment(fixture, "other", {
    [one]: [
      { text: "worse", score: 0 },
      { text: "half", score: 1 },
    ],
    [two]: [{ text: "better", score: 1, error: "late" }],
  });
  const compare = (body: object) =>
    fixture.call(`POST /ui/datasets/${fixture.id}/comparison`, {
      body: { experiment_ids: [base.id, other.id], ...body },
    });
  return { fixture, one, two, base, other, compare };
}

const exampleIds = (json: Json): readonly unknown[] =>
  itemsOf(json["rows"] as Json).map((row) => row["example_id"]);

test("experiments are joined by example: outputs, errors and mean scores of all repetitions", async () => {
  const { one, two, base, other, compare } = await makeScene();
  const { status, json } = await compare({});
  expect(status).toBe(200);
  expect(json).toMatchObject({
    total: 2,
    matching: 2,
    experiments: [
      { id: base.id, example_count: 2, run_count: 2, error_count: 0 },
      { id: other.id, example_count: 2, run_count: 3, error_count: 1 },
    ],
    keys: [{ key: "right", min: 0, max: 1 }],
  });
  expect(exampleIds(json)).toEqual([two, one]);
  const [failed, half] = itemsOf(json["rows"] as Json);
  expect(failed).toMatchObject({
    worst: -2,
    best: 1,
    example: { inputs: { text: '{"q":2}' } },
    scores: { [base.id]: { right: 0 }, [other.id]: { right: 1 } },
  });
  expect(failed?.["runs"]).toMatchObject({
    [other.id]: [{ has_error: true, error: { text: '"late"' }, latency_ms: 250 }],
  });
  expect(half).toMatchObject({ worst: -0.5, scores: { [other.id]: { right: 0.5 } } });
  expect(half?.["runs"]).toMatchObject({
    [base.id]: [{ outputs: { text: '{"text":"good"}' }, scores: { right: 1 } }],
    [other.id]: [
      { outputs: { text: '{"text":"worse"}' } },
      { outputs: { text: '{"text":"half"}' } },
    ],
  });
  expect(one).not.toBe(two);
});

test("the server does paging, subsets and baselines; an unknown baseline is rejected", async () => {
  const { fixture, one, two, base, other, compare } = await makeScene();
  expect(exampleIds((await compare({ limit: 1, offset: 1 })).json)).toEqual([one]);
  expect((await compare({ only: "improvements" })).json).toMatchObject({ matching: 1, total: 2 });
  const swapped = await compare({ baseline_id: other.id, order: "improvement" });
  expect(exampleIds(swapped.json)).toEqual([two, one]);
  expect((await compare({ baseline_id: randomUUID() })).status).toBe(422);
  expect((await compare({ order: "sideways" })).status).toBe(422);
  expect((await compare({ experiment_ids: [base.id, randomUUID()] })).status).toBe(404);
  const elsewhere = await DatasetFixture.open({ name: "elsewhere" }, fixture.server);
  const path = `POST /ui/datasets/${elsewhere.id}/comparison`;
  const body = { experiment_ids: [base.id] };
  expect((await elsewhere.call(path, { body })).status).toBe(404);
});

test("a comparison includes only the scores that belong to it", async () => {
  const { fixture, base, other, compare } = await makeScene();
  const created = await fixture.call("POST /datasets/comparative", {
    body: { experiment_ids: [base.id, other.id], reference_dataset_id: fixture.id },
  });
  const comparative = textOf(created.json["id"]);
  const give = (runId: string | undefined, score: number) =>
    fixture.call("POST /feedback", {
      body: { run_id: runId, key: "preferred", score, comparative_experiment_id: comparative },
    });
  await give(base.runIds[0], 0);
  await give(other.runIds[0], 1);
  const { json } = await compare({ comparative_id: comparative });
  expect(json["keys"]).toMatchObject([
    { key: "preferred", experiments: { [other.id]: { better: 1, worse: 0, same: 0 } } },
  ]);
});

test("only the beginning of a long output is returned, without an incomplete character", async () => {
  const fixture = await DatasetFixture.open();
  const id = await fixture.add();
  const { id: experiment } = await runExperiment(fixture, "long", {
    [id]: [{ text: "é".repeat(5_000) }],
  });
  const { json } = await fixture.call(`POST /ui/datasets/${fixture.id}/comparison`, {
    body: { experiment_ids: [experiment] },
  });
  const [run] = itemsOf((json["rows"] as Json)[0]?.["runs"]?.[experiment] as Json);
  const outputs = run?.["outputs"];
  expect(textOf(outputs?.["text"])).toHaveLength(400);
  expect(textOf(outputs?.["text"])).toMatch(/^\{"text":"é+$/);
});

test("a comparison that was read before shows what has changed since: scores, runs and deletions", async () => {
  const { fixture, one, two, base, other, compare } = await makeScene();
  const readScores = async () => {
    // Several requests at once reach several reader threads, each of which keeps results.
    const responses = await Promise.all(Array.from({ length: 6 }, () => compare({})));
    const shown = responses.map(({ json }) =>
      itemsOf(json["rows"] as Json).map((row) => [
        row["example_id"],
        row["scores"]?.[other.id]?.["right"],
        itemsOf(row["runs"]?.[other.id] as Json).map((run) => run["scores"]?.["right"]),
      ]),
    );
    expect(new Set(shown.map((rows) => JSON.stringify(rows))).size).toBe(1);
    return shown[0];
  };
  expect(await readScores()).toEqual([
    [two, 1, [1]],
    [one, 0.5, [0, 1]],
  ]);
  const feedback = { run_id: other.runIds[0], key: "right", score: 1, id: randomUUID() };
  await fixture.call("POST /feedback", { body: feedback });
  expect(await readScores()).toEqual([
    [two, 1, [1]],
    [one, 2 / 3, [0.5, 1]],
  ]);
  await fixture.call(`PATCH /feedback/${feedback.id}`, { body: { score: 0.25 } });
  expect((await readScores())?.[1]).toEqual([one, 1.25 / 3, [0.125, 1]]);
  await fixture.call(`DELETE /feedback/${feedback.id}`);
  expect((await readScores())?.[1]).toEqual([one, 0.5, [0, 1]]);
  const added = { ...wireRun({ micros: someMicros + 9_000_000 }), session_name: "other" };
  const body = { post: [{ ...added, reference_example_id: one, inputs: {} }], patch: [] };
  await fixture.call("POST /runs/batch", { body });
  expect((await readScores())?.[1]).toEqual([one, 0.5, [0, 1, undefined]]);
  await fixture.call(`DELETE /sessions/${base.id}`);
  const { json } = await fixture.call(`POST /ui/datasets/${fixture.id}/comparison`, {
    body: { experiment_ids: [other.id] },
  });
  expect(json["total"]).toBe(2);
});
