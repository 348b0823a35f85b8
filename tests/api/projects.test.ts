import { randomUUID } from "node:crypto";
import { useServer } from "../../server/tests/support/running-server.ts";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { Projects } from "../../src/api/projects.ts";
import type { ProjectKey } from "../../src/api/projects.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const wireProject = { id, tenant_id: "t", name: "p", extra: null, start_time: "2026-11-21" };

const projectsAt = (endpoint: string): Projects =>
  new Projects(createTestHttp(endpoint).http.call, "http://host.test");

describe("requests", () => {
  test("create sends its arguments, and upsert as a query parameter", async () => {
    const server = await mswServer(on.post("*/sessions", () => HttpResponse.json(wireProject)));
    const projects = projectsAt(server.endpoint);
    await projects.create({ name: "p" });
    await projects.create({
      name: "p",
      description: "d",
      extra: { a: 1, metadata: { old: true } },
      metadata: { m: 2 },
      referenceDatasetId: id,
      id: other,
      startTime: "2024-05-01T00:00:00.000001Z",
      endTime: new Date("2024-05-02T00:00:00Z"),
      upsert: true,
    });
    expect(server.requests).toMatchObject([
      { target: "POST /sessions", body: { name: "p" } },
      {
        target: "POST /sessions?upsert=true",
        body: {
          name: "p",
          description: "d",
          extra: { a: 1, metadata: { m: 2 } },
          reference_dataset_id: id,
          id: other,
          start_time: "2024-05-01T00:00:00.000001Z",
          end_time: "2024-05-02T00:00:00.000Z",
        },
      },
    ]);
  });

  test("every filter of list is a separate query parameter", async () => {
    const server = await mswServer(on.get("*/sessions", () => HttpResponse.json([])));
    const filter = {
      projectIds: [id, other, id],
      projectName: "n&m",
      nameContains: "n",
      referenceDatasetId: id,
      referenceFree: false,
      metadata: { a: 1 },
      includeStats: true,
    };
    await projectsAt(server.endpoint).list(filter).toArray();
    const query = new URL(server.requests[0]?.target.slice(4) ?? "", server.endpoint).searchParams;
    expect([...query]).toEqual([
      ["id", id],
      ["id", other],
      ["name", "n&m"],
      ["name_contains", "n"],
      ["reference_dataset", id],
      ["reference_free", "false"],
      ["metadata", '{"a":1}'],
      ["include_stats", "true"],
      ["limit", "100"],
      ["offset", "0"],
    ]);
  });

  test("a list of no ids is empty, and sends no request", async () => {
    const server = await mswServer();
    expect(await projectsAt(server.endpoint).list({ projectIds: [] }).toArray()).toEqual([]);
    expect(server.requests).toEqual([]);
  });

  test("a response that is not a project is a ResponseError", async () => {
    const answers: readonly unknown[] = [null, [], {}, { ...wireProject, id: 7 }];
    const rest = [...answers];
    const server = await mswServer(
      on.get("*/sessions/:id", () => HttpResponse.json(rest.shift() as null)),
    );
    const projects = projectsAt(server.endpoint);
    for (const _answer of answers) {
      await expect(projects.read({ projectId: id })).rejects.toMatchObject({ code: "ANSWER" });
    }
  });

  test("has rejects on any failure other than not found", async () => {
    const server = await mswServer(
      on.get("*/sessions/:id", () => HttpResponse.json({ detail: "no" }, { status: 403 })),
    );
    await expect(projectsAt(server.endpoint).has({ projectId: id })).rejects.toMatchObject({
      status: 403,
    });
  });
});

describe("refused before anything is sent", () => {
  const neither = {} as ProjectKey;
  const both = { projectId: id, projectName: "p" } as unknown as ProjectKey;

  test.each(["read", "has", "delete", "url"] as const)(
    "%s requires exactly one of id and name",
    async (call) => {
      const server = await mswServer();
      const projects = projectsAt(server.endpoint);
      const code = "VALIDATION";
      await expect(projects[call](neither)).rejects.toMatchObject({
        code,
        message: "Must provide projectName or projectId",
      });
      await expect(projects[call](both)).rejects.toMatchObject({
        code,
        message: "Must provide either projectName or projectId, not both",
      });
      await expect(projects[call]({ projectId: "p-1" })).rejects.toMatchObject({
        code,
        message:
          'Invalid UUID for project id: "p-1". Pass the id as the server returned it: 32 hexadecimal digits grouped 8-4-4-4-12',
      });
      await expect(projects[call]({ projectName: "" })).rejects.toMatchObject({ code });
      expect(server.requests).toEqual([]);
    },
  );

  test("invalid names, ids, times and limits", async () => {
    const server = await mswServer();
    const projects = projectsAt(server.endpoint);
    const failures = [
      projects.create({ name: "" }),
      projects.create({ name: 7 as unknown as string }),
      projects.create({ name: "p", referenceDatasetId: "d" }),
      projects.create({ name: "p", id: "d" }),
      projects.create({ name: "p", startTime: "soon" }),
      projects.update({ projectId: "p", name: "q" }),
      projects.update({ projectId: id }),
      projects.update({ projectId: id, name: "" }),
      projects.update({ projectId: id, endTime: "soon" }),
      projects.update({ projectId: id, endTime: new Date(Number.NaN) }),
    ];
    const outcomes = await Promise.allSettled(failures);
    expect(outcomes).toMatchObject(
      failures.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
    );
    expect(outcomes[6]).toMatchObject({
      reason: {
        message:
          "No valid update options provided: give at least one of name, description, extra, metadata or endTime",
      },
    });
    for (const limit of [0, -1, Number.NaN, "100" as unknown as number]) {
      expect(() => projects.list({ limit })).toThrow(/^limit must be/);
    }
    expect(() => projects.list({ projectIds: ["x"] })).toThrow('Invalid UUID for project id: "x"');
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const projects = projectsAt(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      projects.create({ name: "p", signal }),
      projects.read({ projectId: id, signal }),
      projects.update({ projectId: id, name: "p", signal }),
      projects.delete({ projectId: id, signal }),
      projects.list({ signal }).toArray(),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});

describe("against the local server", () => {
  const server = useServer();

  test("a project is created, read by id and name, updated and deleted", async () => {
    const projects = projectsAt(server.url);
    const name = `<script>'; DROP TABLE projects; --"\u0000 ${randomUUID()}`;
    const created = await projects.create({ name, description: name, metadata: { [name]: name } });
    expect(created).toMatchObject({
      name,
      description: name,
      extra: { metadata: { [name]: name } },
    });
    expect(await projects.read({ projectId: created.id })).toEqual(created);
    expect(await projects.read({ projectName: name })).toEqual(created);
    const endTime = new Date("2026-11-21T10:11:12.345Z");
    const changed = await projects.update({ projectId: created.id, endTime, description: "d" });
    expect(changed).toEqual({
      ...created,
      description: "d",
      endTime: "2026-11-21T10:11:12.345000Z",
    });
    const micros = "2026-11-21T10:11:12.345678Z";
    expect(await projects.update({ projectId: created.id, endTime: micros })).toMatchObject({
      endTime: micros,
    });
    expect(await projects.read({ projectName: name, includeStats: true })).toMatchObject({
      stats: { runCount: 0 },
    });
    expect(await projects.has({ projectName: name })).toBe(true);
    expect(await projects.url({ projectName: name })).toBe(
      `http://host.test/o/${created.tenantId}/projects/p/${created.id}`,
    );
    await projects.delete({ projectName: name });
    expect(await projects.has({ projectName: name })).toBe(false);
    expect(await projects.has({ projectId: created.id })).toBe(false);
  });

  test("a missing project is reported with the message of the product specification", async () => {
    const projects = projectsAt(server.url);
    const calls = [
      projects.read({ projectId: id }),
      projects.update({ projectId: id, name: "p" }),
      projects.delete({ projectId: id }),
      projects.url({ projectId: id }),
    ];
    const expected = {
      code: "NOT_FOUND",
      status: 404,
      message: `Project[id=${id}] not found. Check the id, the endpoint and the tenant of the key`,
    };
    expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => ({ reason: expected })));
    await expect(projects.delete({ projectName: "nope" })).rejects.toThrow(
      'Project[name=nope] not found. Create it with client.projects.create({ name: "nope" }), or check the endpoint and the tenant of the key',
    );
  });

  test("a taken name is a conflict, or with upsert returns the existing project", async () => {
    const projects = projectsAt(server.url);
    const created = await projects.create({ name: "taken" });
    await expect(projects.create({ name: "taken" })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "Failed to create project: 409 Session with this name already exists.",
    });
    const again = await projects.create({ name: "taken", upsert: true, description: "d" });
    expect(again).toEqual({ ...created, description: "d" });
  });

  test("a list spans several pages, and respects its filters and its limit", async () => {
    const projects = projectsAt(server.url);
    const label = randomUUID();
    const names = Array.from({ length: 130 }, (_, n) => `${label} ${String(n).padStart(3, "0")}`);
    await Promise.all(
      names.map((name, n) => projects.create({ name, metadata: { odd: n % 2 === 1 } })),
    );
    const namesOf = async (filter: Parameters<Projects["list"]>[0]): Promise<readonly string[]> =>
      (await projects.list({ nameContains: label, ...filter }).toArray()).map(({ name }) => name);
    expect(await namesOf({})).toEqual(names);
    expect(await namesOf({ limit: 101 })).toEqual(names.slice(0, 101));
    expect(await namesOf({ metadata: { odd: true } })).toEqual(
      names.filter((_name, n) => n % 2 === 1),
    );
    expect(await namesOf({ referenceFree: false })).toEqual([]);
    expect(await namesOf({ projectName: names[7] })).toEqual([names[7]]);
  });
});
