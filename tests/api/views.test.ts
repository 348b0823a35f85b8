import { HttpResponse, http as on } from "msw";
import { expect, test } from "vitest";
import { Projects } from "../../src/api/projects.ts";
import { Views } from "../../src/api/views.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";

const projectId = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("an invalid filter is reported under the name of the option, and other failures as usual", async () => {
  const answers = [
    HttpResponse.json({ detail: "tree_filter_string: unknown field nme" }, { status: 422 }),
    HttpResponse.json({ detail: "filter_string: unknown field nme" }, { status: 422 }),
    HttpResponse.json({ detail: "not found" }, { status: 404 }),
  ];
  const server = await mswServer(on.all("*/sessions/*", () => answers.shift()));
  const { call } = createTestHttp(server.endpoint).http;
  const views = new Views(call, new Projects(call, "http://host.test"));
  await expect(
    views.create({ projectId, name: "slow", treeFilter: "nme = x" }),
  ).rejects.toMatchObject({
    status: 422,
    message: "Failed to create view: 422 treeFilter: unknown field nme",
  });
  const update = { projectId, viewId: projectId, filter: "nme = x" };
  await expect(views.update(update)).rejects.toThrow(
    "Failed to update view: 422 filter: unknown field nme",
  );
  await expect(views.update(update)).rejects.toThrow("Failed to update view: 404 not found. Check");
});
