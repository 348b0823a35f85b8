import { join } from "node:path";
import { expect, test } from "vitest";
import { revertToFormat } from "../../../tests/support/store-fixture.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { formatMigrations } from "../../store/schema.ts";
import {
  call,
  runOwnServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import type { CallInit } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const browser = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };
const sdk = { "user-agent": "millrace/1.2.3 other/4" };
const person = (name: string) => ({ ...browser, "x-millrace-author": encodeURIComponent(name) });

type Server = Parameters<typeof call>[0];

/** Creates a dataset. Returns functions that write to it, and that read the authors of its versions, the newest first. */
async function createDataset(server: Server, headers: CallInit["headers"] = {}) {
  const created = await call(server, "POST /datasets", { body: { name: "d" }, headers });
  const id = textOf(created.json["id"]);
  const versions = async () =>
    (
      (await call(server, `GET /datasets/${id}/versions`, { headers }))
        .json as unknown as readonly { readonly as_of: string }[]
    ).map(({ as_of }) => as_of);
  const readAuthors = async () => {
    const authors: unknown[] = [];
    for (const version of await versions()) {
      const to = encodeURIComponent(version);
      const { json } = await call(server, `GET /ui/datasets/${id}/diff?from_empty=true&to=${to}`, {
        headers,
      });
      authors.push(json["author"]);
    }
    return authors;
  };
  return { id, versions, readAuthors };
}

test("each way to write examples records who wrote: the person, the key and the program", async () => {
  const server = await runOwnServer();
  const { id, readAuthors } = await createDataset(server);
  const body = { dataset_id: id, inputs: { q: 1 } };
  const first = await call(server, "POST /examples", { body, headers: sdk });
  const exampleId = textOf(first.json["id"]);
  const write = async (target: string, name: string, content?: unknown) => {
    const { status } = await call(server, target, { body: content, headers: person(name) });
    expect([target, status]).toEqual([target, 200]);
  };
  await write(`PATCH /examples/${exampleId}`, "update", { outputs: { a: 1 } });
  await write(`PUT /datasets/${id}/splits`, "split", { split_name: "s", examples: [exampleId] });
  await write(`POST /ui/datasets/${id}/import`, "import", [{ inputs: { q: 2 } }]);
  await write("POST /examples/bulk", "bulk", [{ dataset_id: id, inputs: { q: 3 } }]);
  // So large that it is written in slices.
  const large = { dataset_id: id, inputs: { q: "x".repeat(3_000_000) } };
  await write("POST /examples/bulk", "large", [large, large, large]);
  await write(`DELETE /examples/${exampleId}`, "delete");
  const named = (name: string) => ({ name, key_name: null, client: "browser" });
  expect(await readAuthors()).toEqual([
    named("delete"),
    named("large"),
    named("bulk"),
    named("import"),
    named("split"),
    named("update"),
    { name: null, key_name: null, client: "millrace 1.2.3" },
  ]);
});

test("a diff has the authors of both versions, and an API key is named", async () => {
  const server = await runOwnServer({ apiKeys: ["given"] });
  const created = await call(server, "POST /ui/keys", {
    body: { name: "laptop" },
    headers: { "x-api-key": "given" },
  });
  const headers = { "x-api-key": textOf(created.json["key"]), ...sdk };
  const { id, versions } = await createDataset(server, headers);
  for (const name of ["Ada", "Bo"]) {
    await call(server, "POST /examples", {
      body: { dataset_id: id, inputs: { name } },
      headers: { ...headers, ...person(name) },
    });
  }
  const [to = "", from = ""] = await versions();
  const path = `/ui/datasets/${id}/diff?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const { json } = await call(server, `GET ${path}`, { headers });
  expect(json).toMatchObject({
    number: 2,
    author: { name: "Bo", key_name: "laptop", client: "browser" },
    from_author: { name: "Ada", key_name: "laptop", client: "browser" },
    counts: { added: 1 },
  });
});

test("what a rule or a job adds is written by it, and an uploaded file by who sent it", async () => {
  const server = await runOwnServer();
  const { id, readAuthors } = await createDataset(server);
  const project = await call(server, "POST /sessions", { body: { name: "p" } });
  const projectId = textOf(project.json["id"]);
  await call(server, "POST /ui/rules", {
    body: {
      session_id: projectId,
      name: "r",
      filter: 'eq(name, "ruled")',
      sampling_rate: 1,
      action: { kind: "dataset", dataset_id: id },
    },
  });
  const ended = { session_name: "p", end_time: "2026-11-27T00:00:00Z", outputs: {}, inputs: {} };
  await call(server, "POST /runs", { body: wireRun({ name: "ruled", ...ended }) });
  const author = (client: string) => ({ name: null, key_name: null, client });
  await expect.poll(readAuthors, { timeout: 20_000 }).toEqual([author("rule")]);
  await call(server, "POST /runs", { body: wireRun({ name: "picked", ...ended }) });
  const job = await call(server, "POST /ui/jobs", {
    body: {
      kind: "runs.add_to_dataset",
      parameters: {
        dataset_id: id,
        runs: { session: [projectId], filter: 'eq(name, "picked")' },
        includes_outputs: true,
      },
    },
    headers: person("Ada"),
  });
  expect(job.status).toBe(200);
  await expect.poll(readAuthors, { timeout: 20_000 }).toEqual([author("job"), author("rule")]);
  const form = new FormData();
  form.append("file", new Blob(["a\n1"], { type: "text/csv" }), "data.csv");
  form.append("input_keys", "a");
  const uploaded = await call(server, "POST /datasets/upload", {
    body: form,
    headers: person("Bo"),
  });
  const path = `/ui/datasets/${textOf(uploaded.json["id"])}/diff?from_empty=true&to=latest`;
  expect((await call(server, `GET ${path}`)).json["author"]).toEqual({
    name: "Bo",
    key_name: null,
    client: "browser",
  });
});

test("a name that is no name is refused before anything is written", async () => {
  const server = await runOwnServer();
  const { id, versions } = await createDataset(server);
  const refused = await call(server, "POST /examples", {
    body: { dataset_id: id, inputs: {} },
    headers: { "x-millrace-author": "%00" },
  });
  expect(refused).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(/^x-millrace-author must be/) as string },
  });
  expect(await versions()).toEqual([]);
});

test("the author of a version of an earlier format is unknown, and later versions have one", async () => {
  const dataDir = await temporaryFolder();
  const before = await runOwnServer({ dataDir });
  const { id } = await createDataset(before);
  const add = async (server: Server) =>
    call(server, "POST /examples", { body: { dataset_id: id, inputs: {} }, headers: sdk });
  await add(before);
  await before.close();
  const db = openDatabase(join(dataDir, "millrace.db"));
  revertToFormat(
    db,
    formatMigrations.findIndex((sql) => sql.includes("author_json")),
  );
  db.close();
  const after = await runOwnServer({ dataDir });
  const readAuthor = async () =>
    (await call(after, `GET /ui/datasets/${id}/diff?from_empty=true&to=latest`)).json["author"];
  expect(await readAuthor()).toBeNull();
  expect((await add(after)).status).toBe(200);
  expect(await readAuthor()).toEqual({ name: null, key_name: null, client: "millrace 1.2.3" });
});
