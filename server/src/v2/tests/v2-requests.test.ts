import { expect, test } from "vitest";
import { DatasetFixture, textOf } from "../../../tests/support/dataset-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

test("the filters of an experiment's runs may be written with operators, and must all match", async () => {
  const fixture = await DatasetFixture.open();
  const examples = [await fixture.add(), await fixture.add()];
  const { json } = await fixture.call("POST /sessions", {
    body: { name: "tried", reference_dataset_id: fixture.id },
  });
  const experiment = textOf(json["id"]);
  const post = examples.map((example, index) =>
    wireRun({
      micros: someMicros + index,
      name: `try ${index}`,
      session_name: "tried",
      reference_example_id: example,
    }),
  );
  await fixture.call("POST /runs/batch", { body: { post } });
  const query = async (...filters: readonly string[]) =>
    fixture.call(`POST /api/v2/datasets/${fixture.id}/experiment-runs`, {
      body: { experiment_ids: [experiment], filters: { [experiment]: filters }, selects: ["NAME"] },
    });
  const { json: page } = await query('name = "try 0" or name = "try 1"', 'name != "try 0"', " ");
  expect(page["items"]).toMatchObject([{ runs: [] }, { runs: [{ name: "try 1" }] }]);
  expect(await query('name = "try 0"', "nme = 1")).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(/^filters: .*nme/) as unknown },
  });
});
