import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { versions, newVersions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("projects");

describe.each(versions)("projects of %s", (version) => {
  test("a project is created with all its fields, and read by id and by name", async () => {
    const client = testServer.either(version);
    const name = unique("project <b>");
    const created = await client.createProject({
      projectName: name,
      description: "What it is for",
      metadata: { team: "search", depth: { tier: 2 } },
      projectExtra: { colour: "green" },
    });
    const expected = {
      id: created.id,
      name,
      description: "What it is for",
      extra: { colour: "green", metadata: { team: "search", depth: { tier: 2 } } },
    };
    expect(created).toMatchObject(expected);
    expect(await client.readProject({ projectId: created.id })).toMatchObject(expected);
    expect(await client.readProject({ projectName: name })).toMatchObject(expected);
    expect(await testServer.reader.projects.read({ projectId: created.id })).toMatchObject({
      name,
      description: "What it is for",
    });
  });

  test("a taken name is refused, or with upsert the project is updated", async () => {
    const client = testServer.either(version);
    const projectName = unique("project");
    const { id } = await client.createProject({ projectName });
    await expect(client.createProject({ projectName })).rejects.toThrow(/409|already exists/u);
    const again = await client.createProject({ projectName, description: "new", upsert: true });
    expect(again.id).toBe(id);
    expect(await client.readProject({ projectId: id })).toMatchObject({ description: "new" });
  });

  test("a project exists until it is deleted, by id or by name", async () => {
    const client = testServer.either(version);
    const [first, second] = [unique("project"), unique("project")];
    const { id } = await client.createProject({ projectName: first });
    await client.createProject({ projectName: second });
    expect(await client.hasProject({ projectId: id })).toBe(true);
    expect(await client.hasProject({ projectName: second })).toBe(true);
    await client.deleteProject({ projectId: id });
    await client.deleteProject({ projectName: second });
    // The current client distinguishes an unknown id from a negative result: it throws.
    const missingProject = await client
      .hasProject({ projectId: id })
      .catch((error: unknown) => error);
    expect(String(missingProject)).toMatch(
      ["langsmith-0.1", "@millrace/langsmith"].includes(version) ? /^false$/u : /404/u,
    );
    expect(await client.hasProject({ projectName: second })).toBe(false);
    await expect(client.readProject({ projectName: second })).rejects.toThrow("not found");
    await expect(client.readProject({ projectId: id })).rejects.toThrow(/404|not found/u);
  });

  test("an update changes only the given fields", async () => {
    const client = testServer.either(version);
    const { id } = await client.createProject({
      projectName: unique("project"),
      description: "before",
      metadata: { team: "search" },
    });
    const name = unique("renamed");
    await client.updateProject(id, { name });
    expect(await client.readProject({ projectId: id })).toMatchObject({
      name,
      description: "before",
      extra: { metadata: { team: "search" } },
    });
    await client.updateProject(id, {
      description: "after",
      metadata: { team: "evals" },
      projectExtra: { colour: "red" },
      endTime: "2026-01-02T03:04:05.678Z",
    });
    const project = await client.readProject({ projectName: name });
    expect(project).toMatchObject({
      description: "after",
      extra: { colour: "red", metadata: { team: "evals" } },
    });
    expect(new Date(`${String(project.end_time).replace(/Z|\+00:00$/u, "")}Z`)).toEqual(
      new Date("2026-01-02T03:04:05.678Z"),
    );
  });

  test("projects are listed by each filter", async () => {
    const client = testServer.either(version);
    const stem = crypto.randomUUID();
    const dataset = await client.createDataset(unique("dataset"));
    const plain = await client.createProject({
      projectName: `${stem} plain`,
      metadata: { team: stem },
    });
    const experiment = await client.createProject({
      projectName: `${stem} experiment`,
      referenceDatasetId: dataset.id,
    });
    const both = new Set([plain.id, experiment.id]);
    const idsOf = async (filter: Parameters<typeof client.listProjects>[0]) =>
      (await toArray(client.listProjects(filter))).map(({ id }) => id);
    expect(new Set(await idsOf({ nameContains: stem }))).toEqual(both);
    expect(new Set(await idsOf({ projectIds: [...both] }))).toEqual(both);
    expect(await idsOf({ name: `${stem} plain` })).toEqual([plain.id]);
    expect(await idsOf({ nameContains: stem, referenceFree: true })).toEqual([plain.id]);
    expect(await idsOf({ nameContains: stem, referenceFree: false })).toEqual([experiment.id]);
    expect(await idsOf({ referenceDatasetId: dataset.id })).toEqual([experiment.id]);
    expect(await idsOf({ referenceDatasetName: dataset.name })).toEqual([experiment.id]);
    expect(await idsOf({ metadata: { team: stem } })).toEqual([plain.id]);
  });

  test("a list of several pages contains every project once", async () => {
    const client = testServer.either(version);
    const stem = crypto.randomUUID();
    const names = Array.from({ length: 101 }, (_, index) => `${stem} ${index}`);
    await Promise.all(names.map((name) => testServer.reader.projects.create({ name })));
    const listed = await toArray(client.listProjects({ nameContains: stem }));
    expect(listed).toHaveLength(names.length);
    expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names));
  });

  test("a project's statistics are those of its runs", async () => {
    const client = testServer.either(version);
    const projectName = unique("project");
    const start = Date.now() - 60_000;
    for (const error of [undefined, "no umbrella"]) {
      await client.createRun({
        id: crypto.randomUUID(),
        name: "run",
        run_type: "chain",
        inputs: {},
        project_name: projectName,
        start_time: start,
        end_time: start + 2_000,
        ...(error === undefined ? {} : { error }),
      });
    }
    const project = await client.readProject({ projectName, includeStats: true });
    expect(project).toMatchObject({ run_count: 2, latency_p50: 2, error_rate: 0.5 });
  });

  test("a project's page names the tenant and the project", async () => {
    const client = testServer.either(version);
    const projectName = unique("project");
    const { id, tenant_id } = await client.createProject({ projectName });
    const { id: tenantId } = await testServer.reader.tenant.settings();
    const page = `/o/${tenantId}/projects/p/${id}`;
    expect(tenant_id).toBe(tenantId);
    expect(new URL(await client.getProjectUrl({ projectName })).pathname).toBe(page);
    expect(new URL(await client.getProjectUrl({ projectId: id })).pathname).toBe(page);
  });
});

test.each(newVersions)(
  "langsmith makes an experiment, and lists it with its statistics (%s)",
  async (newer) => {
    const client = testServer.newest(newer);
    const dataset = await client.createDataset(unique("dataset"));
    const projectName = unique("experiment");
    const { id } = await client.createProject({
      projectName,
      referenceDatasetId: dataset.id,
      numExamples: 3,
      numRepetitions: 2,
      evaluatorKeys: ["correct"],
    });
    const [project] = await toArray(client.listProjects({ name: projectName, includeStats: true }));
    expect(project).toMatchObject({ id, run_count: 0, reference_dataset_id: dataset.id });
  },
);

testServer.expectAllCalled();
