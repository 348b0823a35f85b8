import type { RunningServer } from "@millrace/server";
import { expect, test } from "vitest";
import { DatasetFixture, textOf } from "../../../tests/support/dataset-fixture.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

/** Creates a project with one root run in the thread `talk`, and returns the ids of both. */
async function createThread(server: RunningServer) {
  const run = wireRun({ session_name: "p", extra: { metadata: { thread_id: "talk" } } });
  await call(server, "POST /runs/batch", { body: { post: [run] } });
  const { json } = await call(server, "GET /sessions?name=p");
  return { runId: run.id, projectId: textOf(json[0]?.["id"]) };
}

test("a malformed id of a project is reported under the name of the parameter", async () => {
  const server = await runServer();
  const { runId } = await createThread(server);
  const share = async (target: string, body?: object): Promise<unknown> => {
    const { status, json } = await call(server, target, { body });
    return [status, json["detail"]];
  };
  for (const name of ["project_id", "session_id"]) {
    const refused = [422, `${name} is not a UUID: "p"`];
    expect(await share(`POST /api/v2/runs/${runId}/share`, { [name]: "p" })).toEqual(refused);
    expect(await share("POST /api/v2/threads/talk/share", { [name]: "p" })).toEqual(refused);
    expect(await share(`GET /api/v2/threads/talk/share?${name}=p`)).toEqual(refused);
  }
  expect(await share("GET /api/v2/threads/talk/share")).toEqual([
    422,
    "project_id is not a UUID: undefined",
  ]);
});

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
