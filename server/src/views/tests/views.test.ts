import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { CallResult } from "../../../tests/support/running-server.ts";
import { viewQueries, ViewRepository } from "../view-repository.ts";

const hostile = "<b>'; DROP TABLE views; --\"\r\nx: 1\u0000 \ud800 😀";

const idOf = ({ json }: CallResult): string => JSON.stringify(json["id"]).slice(1, -1);

/** A server with one project; `path` is that of its views. */
async function createProject() {
  const server = await runServer();
  const project = await call(server, "POST /sessions", { body: { name: "p" } });
  return { server, path: `/sessions/${idOf(project)}/views` };
}

test("any name and description is stored unchanged, and views are listed by name in pages", async () => {
  const { server, path } = await createProject();
  for (const name of ["b", hostile, "a"]) {
    const body = { display_name: name, description: hostile, filter_string: 'eq(name, "x")' };
    expect(await call(server, `POST ${path}`, { body })).toMatchObject({
      status: 200,
      json: { ...body, trace_filter_string: null, tree_filter_string: null },
    });
  }
  const { json } = await call(server, `GET ${path}?limit=2&offset=1`);
  expect(json).toMatchObject([{ display_name: "a" }, { display_name: "b" }]);
});

test("an update changes what it names, null changes nothing, and an empty text removes", async () => {
  const { server, path } = await createProject();
  const created = await call(server, `POST ${path}`, {
    body: {
      display_name: "v",
      description: "d",
      filter_string: 'eq(name, "x")',
      list_query: "all=true&last=7d",
    },
  });
  const target = `PATCH ${path}/${idOf(created)}`;
  const body = { description: null, filter_string: "", tree_filter_string: 'eq(name, "y")' };
  const expected = {
    display_name: "v",
    description: "d",
    filter_string: null,
    list_query: "all=true&last=7d",
  };
  expect((await call(server, target, { body })).json).toMatchObject({
    ...expected,
    tree_filter_string: 'eq(name, "y")',
  });
});

test("a malformed filter, an empty name and unknown ids are refused with the reason", async () => {
  const { server, path } = await createProject();
  const filter = { display_name: "v", trace_filter_string: "eq(name" };
  expect(await call(server, `POST ${path}`, { body: filter })).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(/^trace_filter_string: /) as string },
  });
  const empty = { display_name: "" };
  expect((await call(server, `POST ${path}`, { body: empty })).status).toBe(422);
  const other = `/sessions/${randomUUID()}/views`;
  const body = { display_name: "v" };
  for (const target of [`POST ${other}`, `GET ${other}`, `GET ${path}/${randomUUID()}`]) {
    expect((await call(server, target, target.startsWith("POST") ? { body } : {})).status).toBe(
      404,
    );
  }
  expect((await call(server, `DELETE ${path}/${randomUUID()}`)).status).toBe(404);
  expect((await call(server, `PATCH ${path}/${randomUUID()}`, { body })).status).toBe(404);
});

test("another tenant sees no view, also of a project with the same id", async () => {
  const { server, path } = await createProject();
  await call(server, `POST ${path}`, { body: { display_name: "v" } });
  const other = await runServer();
  expect((await call(other, `GET ${path}`)).status).toBe(404);
  const id = path.split("/")[2];
  await call(other, "POST /sessions", { body: { name: "theirs", id } });
  expect(await call(other, `GET ${path}`)).toMatchObject({ status: 200, json: [] });
});

test("the views of a deleted project are deleted with it", async () => {
  const { server, path } = await createProject();
  await call(server, `POST ${path}`, { body: { display_name: "v" } });
  const project = path.replace("/views", "");
  await call(server, `DELETE ${project}`);
  const id = project.split("/")[2];
  await call(server, "POST /sessions", { body: { name: "again", id } });
  expect((await call(server, `GET ${path}`)).json).toEqual([]);
});

describeRepositories({ viewQueries }, (fixture) => {
  test("views are created, found, updated, listed and deleted", async () => {
    const views = new ViewRepository(fixture.db);
    const projectId = await fixture.insertProject();
    const fields = {
      description: null,
      filter: "x",
      traceFilter: null,
      treeFilter: null,
      listQuery: null,
    };
    const view = await views.create(tenantId, projectId, { name: hostile, fields });
    const other = await views.create(tenantId, projectId, { name: "b", fields });
    const update = { fields: { filter: null } };
    const updated = await views.update(tenantId, { projectId, id: view.id }, update);
    expect(updated).toMatchObject({ name: hostile, fields: { ...fields, filter: null } });
    expect(await views.find(tenantId, { projectId, id: view.id })).toEqual(updated);
    const foreign = views.find(otherId, { projectId, id: view.id });
    await expect(foreign).rejects.toMatchObject({ status: 404 });
    await views.delete(tenantId, { projectId, id: other.id });
    expect(await views.list(tenantId, projectId, { limit: 5, offset: 0 })).toEqual([updated]);
  });

  test("words of a saved filter that now need quotes are searched for, as before", async () => {
    const views = new ViewRepository(fixture.db);
    const projectId = await fixture.insertProject();
    const fields = {
      description: null,
      filter: "status:error",
      traceFilter: null,
      treeFilter: "error has occurred",
      listQuery: null,
    };
    const { id } = await views.create(tenantId, projectId, { name: "v", fields });
    expect(await views.find(tenantId, { projectId, id })).toMatchObject({
      fields: {
        filter: 'search("status:error")',
        treeFilter: 'and(search("error"), search("has"), search("occurred"))',
      },
    });
  });
});
