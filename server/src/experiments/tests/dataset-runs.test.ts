import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";

test.each([
  ["/datasets/ID/runs", "session_ids"],
  ["/api/v2/datasets/ID/experiment-runs", "experiment_ids"],
])("POST %s refuses what is not an experiment on the dataset", async (path, member) => {
  const fixture = await DatasetFixture.open();
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  await fixture.add();
  const create = async (body: object): Promise<string> =>
    textOf((await fixture.call("POST /sessions", { body })).json["id"]);
  const experiment = await create({ name: "tried", reference_dataset_id: fixture.id });
  const elsewhere = await create({ name: "elsewhere", reference_dataset_id: other.id });
  const project = await create({ name: "plain" });
  const read = async (...ids: readonly string[]) =>
    fixture.call(`POST ${path.replace("ID", fixture.id)}`, { body: { [member]: ids } });
  const { json } = await read(experiment, experiment.toUpperCase());
  expect(itemsOf("items" in json ? json["items"] : json)).toHaveLength(1);
  const unknown = randomUUID();
  expect(await read(experiment, unknown)).toMatchObject({
    status: 404,
    json: { detail: `Experiments not found: ${unknown}` },
  });
  for (const id of [elsewhere, project]) {
    expect(await read(experiment, id)).toMatchObject({
      status: 422,
      json: { detail: `Experiments are not on dataset ${fixture.id}: ${id}` },
    });
  }
});
