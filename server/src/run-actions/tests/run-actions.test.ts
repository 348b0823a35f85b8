import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { CallResult, Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import { deriveId } from "../matching-runs.ts";

interface Server {
  readonly url: string;
}

const idOf = (json: Json): string => JSON.stringify(json["id"]).slice(1, -1);

/** A project with 30 traces of two runs each: the names of ten roots begin with `bad`. */
async function recordTraces(server: Server) {
  const project = idOf((await call(server, "POST /sessions", { body: { name: "p" } })).json);
  const post = Array.from({ length: 30 }, (_, index) => {
    const root = wireRun({
      micros: someMicros + index * 1_000_000,
      name: index % 3 === 0 ? "bad" : "good",
      session_id: project,
      inputs: { question: index },
      outputs: { answer: index },
      tags: ["first"],
    });
    const child = wireRun({
      micros: someMicros + index * 1_000_000 + 1,
      parent: root,
      name: "child",
      session_id: project,
    });
    return [root, child];
  });
  const stored = await call(server, "POST /runs/batch", { body: { post: post.flat() } });
  expect(stored.status).toBe(202);
  return { project, traces: post };
}

const badRuns = (project: string) => ({ session: [project], filter: 'eq(name, "bad")' });

/** Creates a job, and waits until it has ended. */
async function perform(server: Server, kind: string, parameters: object): Promise<Json> {
  const created = await call(server, "POST /ui/jobs", { body: { kind, parameters } });
  expect(created).toMatchObject({ status: 200 });
  let ended: Json = {};
  await expect
    .poll(
      async () => {
        ended = (await call(server, `GET /ui/jobs/${idOf(created.json)}`)).json;
        return /"(succeeded|failed)"/.test(JSON.stringify(ended["state"]));
      },
      { timeout: 10_000 },
    )
    .toBe(true);
  return ended;
}

async function query(server: Server, body: object): Promise<readonly Json[]> {
  const { json } = await call(server, "POST /runs/query", { body: { limit: 100, ...body } });
  return json["runs"] as unknown as readonly Json[];
}

const namesOf = (runs: readonly Json[]): readonly string[] =>
  runs.map((run) => JSON.stringify(run["name"]).slice(1, -1)).toSorted();

test("all matching runs are added to a dataset, once, with their inputs and outputs", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const dataset = idOf((await call(server, "POST /datasets", { body: { name: "d" } })).json);
  const parameters = {
    runs: badRuns(project),
    dataset_id: dataset,
    includes_outputs: true,
    split: "hard",
  };
  expect(await perform(server, "runs.add_to_dataset", parameters)).toMatchObject({
    state: "succeeded",
    title: "Add 10 runs to the dataset “d”",
    progress: { done: 10, total: 10, figures: { examples_added: 10 } },
    result: { summary: "Added 10 examples.", dataset_id: dataset },
  });
  const { json } = await call(server, `GET /examples?dataset=${dataset}`);
  const examples = json as unknown as readonly Json[];
  expect(examples).toHaveLength(10);
  for (const example of examples) {
    const { question } = example["inputs"] as unknown as { readonly question: number };
    expect(example).toMatchObject({
      outputs: { answer: question },
      metadata: { dataset_split: ["hard"] },
    });
  }
});

test("runs that violate the schema of the dataset are counted, and the others are added", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const schema = {
    type: "object",
    properties: { question: { type: "integer", maximum: 14 } },
    required: ["question"],
  };
  const body = { name: "d", inputs_schema_definition: schema };
  const dataset = idOf((await call(server, "POST /datasets", { body })).json);
  const parameters = { runs: badRuns(project), dataset_id: dataset, includes_outputs: false };
  expect(await perform(server, "runs.add_to_dataset", parameters)).toMatchObject({
    state: "succeeded",
    progress: { done: 10, figures: { examples_added: 5 } },
    failures: { count: 5 },
  });
});

test("all matching runs are added to a queue, and a second time changes nothing", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const body = { name: "doubts" };
  const queue = idOf((await call(server, "POST /annotation-queues", { body })).json);
  const parameters = { runs: badRuns(project), queue_id: queue };
  for (let time = 0; time < 2; time += 1) {
    expect(await perform(server, "runs.add_to_queue", parameters)).toMatchObject({
      state: "succeeded",
      progress: { done: 10, total: 10 },
    });
  }
  expect((await call(server, `GET /annotation-queues/${queue}/size`)).json).toMatchObject({
    size: 10,
  });
});

test("a tag is added, removed and added again", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const runs = badRuns(project);
  const readTags = async () =>
    (await query(server, { session: [project], filter: 'eq(name, "bad")' })).map(
      (run) => run["tags"],
    );
  const allWith = (tags: readonly string[]) => Array.from({ length: 10 }, () => tags);
  expect(await perform(server, "runs.tag", { runs, add: "later" })).toMatchObject({
    title: "Add tag “later” to 10 runs",
    progress: { done: 10, figures: { runs_changed: 10 } },
  });
  expect(await readTags()).toEqual(allWith(["first", "later"]));
  const again = await perform(server, "runs.tag", { runs, add: "later" });
  expect(again).toMatchObject({ progress: { done: 10, figures: { runs_changed: 0 } } });
  await perform(server, "runs.tag", { runs, remove: "later" });
  expect(await readTags()).toEqual(allWith(["first"]));
  await perform(server, "runs.tag", { runs, add: "later" });
  expect(await readTags()).toEqual(allWith(["first", "later"]));
  const found = await query(server, { session: [project], filter: 'has(tags, "later")' });
  expect(found).toHaveLength(10);
});

test("feedback is added to all matching runs, with the reviewer", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const parameters = { runs: badRuns(project), key: "quality", score: 0, reviewer: "ann" };
  expect(await perform(server, "runs.add_feedback", parameters)).toMatchObject({
    state: "succeeded",
    progress: { done: 10, total: 10 },
    failures: { count: 0 },
  });
  const { json } = await call(server, "GET /feedback?key=quality");
  const feedback = json as unknown as readonly Json[];
  expect(feedback).toHaveLength(10);
  expect(feedback[0]).toMatchObject({
    score: 0,
    feedback_source: { type: "app", metadata: { reviewer: "ann" } },
  });
});

test("deleting traces deletes the runs below them, and nothing else", async () => {
  const server = await runServer();
  const { project, traces } = await recordTraces(server);
  const deleted = await perform(server, "runs.delete", { runs: badRuns(project) });
  expect(deleted).toMatchObject({
    state: "succeeded",
    title: "Delete 10 runs",
    progress: { done: 10, total: 10, figures: { runs_deleted: 20 } },
  });
  const left = await query(server, { session: [project] });
  expect(namesOf(left)).toEqual([
    ...Array.from({ length: 20 }, () => "child"),
    ...Array.from({ length: 20 }, () => "good"),
  ]);
  const [root] = traces[0] ?? [];
  expect((await call(server, `GET /runs/${root?.id}`)).status).toBe(404);
  const words = await call(server, `GET /ui/runs/words?session=${project}&kind=name`);
  expect(words.json).toEqual({ words: ["child", "good"] });
  const counts = await call(server, `GET /ui/runs/counts?session=${project}&is_root=true`);
  const buckets = counts.json["buckets"] as unknown as readonly { readonly runs: number }[];
  expect(buckets.reduce((sum, { runs }) => sum + runs, 0)).toBe(20);
});

test("deleting a run in the middle of a trace keeps the runs above and beside it", async () => {
  const server = await runServer();
  const project = idOf((await call(server, "POST /sessions", { body: { name: "p" } })).json);
  const root = wireRun({ name: "root", session_id: project });
  const middle = wireRun({
    micros: someMicros + 1,
    parent: root,
    name: "middle",
    session_id: project,
  });
  const others = [
    wireRun({ micros: someMicros + 2, parent: middle, name: "below", session_id: project }),
    wireRun({ micros: someMicros + 3, parent: root, name: "beside", session_id: project }),
  ];
  await call(server, "POST /runs/batch", { body: { post: [root, middle, ...others] } });
  await perform(server, "runs.delete", { runs: { session: [project], id: [middle.id] } });
  const left = await query(server, { session: [project] });
  expect(namesOf(left)).toEqual(["beside", "root"]);
});

test("a trace with more runs than one step deletes is deleted whole", async () => {
  const server = await runServer();
  const project = idOf((await call(server, "POST /sessions", { body: { name: "p" } })).json);
  const root = wireRun({ name: "root", session_id: project });
  const children = Array.from({ length: 450 }, (_, index) =>
    wireRun({ micros: someMicros + 1 + index, parent: root, session_id: project }),
  );
  await call(server, "POST /runs/batch", { body: { post: [root, ...children] } });
  const runs = { session: [project], is_root: true };
  expect(await perform(server, "runs.delete", { runs })).toMatchObject({
    progress: { done: 1, figures: { runs_deleted: 451 } },
  });
  expect(await query(server, { session: [project] })).toEqual([]);
});

test("runs that begin after the job was created are not included", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const future = wireRun({
    micros: Date.now() * 1_000 + 3_600_000_000,
    name: "bad",
    session_id: project,
  });
  await call(server, "POST /runs/batch", { body: { post: [future] } });
  expect(await perform(server, "runs.delete", { runs: badRuns(project) })).toMatchObject({
    progress: { done: 10 },
  });
  const left = await query(server, { session: [project], filter: 'eq(name, "bad")' });
  expect(left.map((run) => run["id"])).toEqual([future.id]);
});

test("another tenant's runs with the same ids stay", async () => {
  const [server, other] = [await runServer(), await runServer()];
  const { project, traces } = await recordTraces(server);
  const own = idOf((await call(other, "POST /sessions", { body: { name: "p" } })).json);
  const post = traces.flat().map((run) => ({ ...run, session_id: own }));
  await call(other, "POST /runs/batch", { body: { post } });
  await perform(other, "runs.delete", { runs: { session: [own] } });
  expect(await query(other, { session: [own] })).toEqual([]);
  expect(await query(server, { session: [project] })).toHaveLength(60);
  const foreign = await perform(other, "runs.delete", { runs: { session: [project] } });
  expect(foreign).toMatchObject({ progress: { done: 0 } });
  expect(await query(server, { session: [project] })).toHaveLength(60);
});

test.each([
  ["runs.delete", { runs: { session: ["x"] } }, /session is not a UUID/],
  ["runs.delete", { runs: { session: [randomUUID()], filter: "eq(name" } }, /^filter: /],
  ["runs.delete", {}, /required property 'runs'/],
  ["runs.tag", { runs: { session: [randomUUID()] } }, /either add or remove/],
  ["runs.add_feedback", { runs: { session: [randomUUID()] }, key: "k" }, /score, value or comment/],
])("%s with %j is refused with the reason", async (kind, parameters, reason) => {
  const server = await runServer();
  const refused: CallResult = await call(server, "POST /ui/jobs", { body: { kind, parameters } });
  expect(refused).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(reason) as string },
  });
});

test("a dataset or queue that does not exist is refused", async () => {
  const server = await runServer();
  const { project } = await recordTraces(server);
  const runs = badRuns(project);
  const bodies = [
    { kind: "runs.add_to_queue", parameters: { runs, queue_id: randomUUID() } },
    {
      kind: "runs.add_to_dataset",
      parameters: { runs, dataset_id: randomUUID(), includes_outputs: true },
    },
  ];
  for (const body of bodies) {
    expect((await call(server, "POST /ui/jobs", { body })).status).toBe(404);
  }
});

test("the id that a job derives for a run is a UUID, the same each time, and another one for each job", () => {
  const [job, run] = [randomUUID(), randomUUID()];
  expect(deriveId(job, run)).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
  expect(deriveId(job, run)).toBe(deriveId(job, run));
  expect(deriveId(randomUUID(), run)).not.toBe(deriveId(job, run));
});
