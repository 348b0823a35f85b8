import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";
import type { SendAs } from "../../../tests/support/hub-tenants.ts";
import { anyText, containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";

const hostile = "<b>'; DROP TABLE comparatives; --\"\r\nx: 1\u0000 \ud800 😀";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

async function runAs(): Promise<SendAs> {
  const server = await runServer();
  return (target, body) => call(server, target, { body });
}

interface Scene {
  readonly dataset: string;
  readonly experiments: readonly string[];
}

/** A dataset with two experiments. */
async function setScene(send: SendAs, name = "d"): Promise<Scene> {
  const dataset = textOf((await send("POST /datasets", { name })).json["id"]);
  const experiments: string[] = [];
  for (const label of ["z", "a"]) {
    const body = { name: `${name} ${label}`, reference_dataset_id: dataset };
    experiments.push(textOf((await send("POST /sessions", body)).json["id"]));
  }
  return { dataset, experiments };
}

test("a comparison is created and listed with its experiments in order and its feedback", async () => {
  const send = await runAs();
  const { dataset, experiments } = await setScene(send);
  const body = {
    id: randomUUID(),
    name: hostile,
    description: hostile,
    experiment_ids: experiments,
    reference_dataset_id: dataset,
    created_at: "2026-11-21T10:11:12.123456Z",
    extra: { metadata: { [hostile]: hostile } },
  };
  const created = await send("POST /api/v1/datasets/comparative", body);
  const { experiment_ids: _ids, ...kept } = body;
  const info = [
    { id: experiments[0], name: "d z" },
    { id: experiments[1], name: "d a" },
  ];
  expect(created).toMatchObject({
    status: 200,
    json: { ...kept, tenant_id: anyText(), modified_at: body.created_at, experiments_info: info },
  });
  expect((await send("POST /datasets/comparative", body)).json).toEqual(created.json);
  expect((await send("POST /datasets/comparative", { ...body, name: "n" })).status).toBe(409);
  const feedback = { comparative_experiment_id: body.id, key: "better", run_id: randomUUID() };
  expect((await send("POST /feedback", { ...feedback, score: 1 })).status).toBe(200);
  expect((await send("POST /feedback", { ...feedback, score: 0 })).status).toBe(200);
  const path = `/datasets/${dataset}/comparative`;
  expect((await send(`GET ${path}`)).json).toEqual([
    { ...(created.json as object), feedback_stats: { better: { n: 2, avg: 0.5, values: {} } } },
  ]);
  const listed = await send(`GET /feedback?comparative_experiment_id=${body.id}`);
  expect(listed.json).toHaveLength(2);

  await send(`DELETE /sessions/${experiments[0]}`);
  expect((await send(`GET ${path}`)).json).toMatchObject([{ experiments_info: [info[1]] }]);
});

test("the dataset defaults to that of the experiments", async () => {
  const send = await runAs();
  const { dataset, experiments } = await setScene(send);
  expect(await send("POST /datasets/comparative", { experiment_ids: experiments })).toMatchObject({
    status: 200,
    json: { id: anyText(), name: null, reference_dataset_id: dataset },
  });
});

test("a list applies its filters and its order, page by page", async () => {
  const send = await runAs();
  const { dataset, experiments } = await setScene(send);
  const ids: string[] = [];
  for (const [day, name] of ["b", "Ab", "c"].entries()) {
    const created_at = `2026-01-0${day + 1}T00:00:00Z`;
    const body = { name, experiment_ids: experiments, created_at };
    ids.push(textOf((await send("POST /datasets/comparative", body)).json["id"]));
  }
  const list = async (query: string): Promise<readonly unknown[]> => {
    const { json } = await send(`GET /datasets/${dataset}/comparative?${query}`);
    return (json as unknown as readonly Json[]).map((one) => one["name"]);
  };
  expect(await list("")).toEqual(["c", "Ab", "b"]);
  expect(await list("limit=1&offset=1")).toEqual(["Ab"]);
  expect(await list("sort_by=name&sort_by_desc=false")).toEqual(["Ab", "b", "c"]);
  expect(await list("name=b")).toEqual(["b"]);
  expect(await list("name_contains=B")).toEqual(["Ab", "b"]);
  expect(await list(`id=${ids[0]}&id=${ids[2]}`)).toEqual(["c", "b"]);
  for (const query of ["limit=0", "limit=101", "limit=NaN", "id=x", "sort_by=id"]) {
    expect((await send(`GET /datasets/${dataset}/comparative?${query}`)).status).toBe(422);
  }
  expect((await send("GET /datasets/x/comparative")).status).toBe(422);
});

test("deleting a dataset deletes its comparisons, and removes it as the default of queues", async () => {
  const send = await runAs();
  const { dataset, experiments } = await setScene(send);
  const kept = await setScene(send, "kept");
  const body = { id: randomUUID(), experiment_ids: experiments };
  await send("POST /datasets/comparative", body);
  await send("POST /datasets/comparative", { experiment_ids: kept.experiments });
  const queue = await send("POST /annotation-queues", { name: "q", default_dataset: dataset });
  await send(`DELETE /datasets/${dataset}`);
  expect((await send(`GET /datasets/${dataset}/comparative`)).status).toBe(404);
  expect((await send(`GET /datasets/${kept.dataset}/comparative`)).json).toHaveLength(1);
  const feedback = { run_id: randomUUID(), key: "k", comparative_experiment_id: body.id };
  expect((await send("POST /feedback", feedback)).status).toBe(404);
  expect((await send(`GET /annotation-queues/${textOf(queue.json["id"])}`)).json).toMatchObject({
    default_dataset: null,
  });
});

test("experiments that do not exist, or are on another dataset, are listed in the error", async () => {
  const send = await runAs();
  const { dataset, experiments } = await setScene(send);
  const other = await setScene(send, "other");
  const plain = textOf((await send("POST /sessions", { name: "no experiment" })).json["id"]);
  const missing = randomUUID();
  const refusals: readonly (readonly [unknown, number, unknown])[] = [
    [{ experiment_ids: [] }, 422, "At least one experiment is required"],
    [{ experiment_ids: [plain] }, 422, "A reference dataset is required"],
    [{ experiment_ids: [missing] }, 404, `Experiments not found: ${missing}`],
    [
      { experiment_ids: [...experiments, other.experiments[0], plain] },
      422,
      `Experiments are not on dataset ${dataset}: ${other.experiments[0]}, ${plain}`,
    ],
    [
      { experiment_ids: experiments, reference_dataset_id: other.dataset },
      422,
      containing(`not on dataset ${other.dataset}: ${experiments[0]}`),
    ],
    [{ experiment_ids: ["x"] }, 422, containing("is not a UUID")],
    [{ experiment_ids: experiments, id: "x" }, 422, containing("is not a UUID")],
    [{ experiment_ids: experiments, reference_dataset_id: "x" }, 422, containing("UUID")],
    [{ experiment_ids: experiments, created_at: "soon" }, 422, containing("created_at")],
    [{}, 422, [{ loc: ["body"], msg: anyText(), type: "required" }]],
  ];
  for (const [body, status, detail] of refusals) {
    const response = await send("POST /datasets/comparative", body);
    expect([response.status, response.json["detail"]]).toEqual([status, detail]);
  }
  expect((await send(`GET /datasets/${dataset}/comparative`)).json).toEqual([]);
  const unknown = { run_id: randomUUID(), key: "k", comparative_experiment_id: randomUUID() };
  expect(await send("POST /feedback", unknown)).toMatchObject({
    status: 404,
    json: { detail: "Comparative experiment not found" },
  });
});

test("rows of another tenant can be neither read nor written", async () => {
  const { me, you } = await twoTenants();
  const { dataset, experiments } = await setScene(me);
  const { json } = await me("POST /datasets/comparative", { experiment_ids: experiments });
  expect((await you("POST /datasets/comparative", { experiment_ids: experiments })).status).toBe(
    404,
  );
  expect((await you(`GET /datasets/${dataset}/comparative`)).status).toBe(404);
  const feedback = { run_id: randomUUID(), key: "k", comparative_experiment_id: json["id"] };
  expect((await you("POST /feedback", feedback)).status).toBe(404);
});
