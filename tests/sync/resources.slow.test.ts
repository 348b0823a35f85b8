import { startServer } from "@millrace/server";
import { Client, NotFoundError, Pages, ValidationError } from "millrace";
import type { ConflictError, SyncResources } from "millrace";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { scriptedServer } from "../support/scripted-server.ts";

function clientOf(endpoint: string): Client {
  const client = new Client({ endpoint, attempts: 2, enabled: false });
  onTestFinished(async () => void (await client.close()));
  return client;
}

type Work = (...args: readonly unknown[]) => unknown;

interface MirroredMethod {
  readonly name: string;
  readonly awaited: Work;
  readonly blocking: Work;
}

/** The methods of a client's resources: its properties whose classes are in `src/api`. */
function methodsOf(client: Client): readonly MirroredMethod[] {
  const sync = client.sync as unknown as Readonly<Record<string, Readonly<Record<string, Work>>>>;
  return Object.entries(client as unknown as Readonly<Record<string, object>>).flatMap(
    ([resource, target]) => {
      return methodNamesOf(Object.getPrototypeOf(target) as object).map((method) => ({
        name: `${resource}.${method}`,
        awaited: (...args: readonly unknown[]) =>
          (target as Readonly<Record<string, Work>>)[method]!(...args),
        blocking: (...args: readonly unknown[]) => sync[resource]?.[method]?.(...args),
      }));
    },
  );
}

function methodNamesOf(prototype: object): readonly string[] {
  if (prototype === Object.prototype) {
    return [];
  }
  const above = methodNamesOf(Object.getPrototypeOf(prototype) as object);
  const methodNames = Object.getOwnPropertyNames(prototype).filter(
    (name) => name !== "constructor",
  );
  return [...new Set([...methodNames, ...above])];
}

/** The result of a call, or the comparable properties of its error. */
async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    const result = work();
    return { result: result instanceof Pages ? await result.toArray() : await result };
  } catch (error) {
    const { name, message, code, status, retryable } = error as Record<string, unknown>;
    return {
      constructor: (error as Error).constructor.name,
      name,
      message,
      code,
      status,
      retryable,
    };
  }
}

const id = "7f2b8c1e-3d4a-4b5c-8d6e-9f0a1b2c3d4e";

describe("every method of every resource", () => {
  test("has a blocking version, and nothing else does", () => {
    const client = clientOf("http://localhost:9");
    const { sync } = client;
    const mirrored = Object.entries(sync).flatMap(([resource, methods]) =>
      Object.keys(methods as object).map((method) => `${resource}.${method}`),
    );
    expect(mirrored.length).toBeGreaterThan(10);
    expect(mirrored.toSorted()).toEqual(
      methodsOf(client)
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(client.sync).toBe(sync);
  });

  test.each<readonly [string, readonly unknown[]]>([
    ["nothing", []],
    ["an id", [id]],
    ["an id and options", [id, { name: "n", tag: "t", limit: 3 }]],
    ["options", [{ id, name: "status-418", limit: 2 }]],
    ["what is no id", ["\u0000", { limit: -1 }]],
  ])("has the same result as the asynchronous version, with %s", async (_title, args) => {
    const { endpoint } = await scriptedServer();
    const methods = methodsOf(clientOf(endpoint));
    expect(methods.length).toBeGreaterThan(10);
    for (const { name, awaited, blocking } of methods) {
      const expected = await outcomeOf(() => awaited(...args));
      expect({ [name]: await outcomeOf(() => blocking(...args)) }).toEqual({ [name]: expected });
    }
  });
});

describe("with the local server in the same process", () => {
  let url = "";
  beforeAll(async () => {
    const server = await startServer({ port: 0, dataDir: ":memory:" });
    ({ url } = server);
    return () => server.close();
  });

  test("blocking calls return the same as asynchronous ones, and lists are arrays", async () => {
    const client = clientOf(url);
    const { sync } = client;
    const metadata = { team: "search", since: new Date(0), host: new URL("http://h/") };
    const project = sync.projects.create({ name: "mirrored", metadata });
    expect(project).toEqual(await client.projects.read({ projectId: project.id }));
    expect(project.extra["metadata"]).toEqual(JSON.parse(JSON.stringify(metadata)));
    const created = Array.from({ length: 120 }, (_one, index) => `many-${index}`);
    for (const name of created) {
      await client.projects.create({ name });
    }
    const list = sync.projects.list({ nameContains: "many-" });
    expect(list).toEqual(await client.projects.list({ nameContains: "many-" }).toArray());
    expect(list).toHaveLength(120);
    expect(sync.projects.list({ nameContains: "many-", limit: 3 })).toHaveLength(3);
    expect(sync.tenant.settings()).toEqual(await client.tenant.settings());
    expect(sync.projects.delete({ projectName: "mirrored" })).toBeUndefined();
    expect(sync.projects.has({ projectName: "mirrored" })).toBe(false);
  });

  test("a table is uploaded from any transferable source, and its lines are returned as an array", () => {
    const { sync } = clientOf(url);
    const table = "question,answer\none,two\nthree,four\n";
    const files = {
      buffer: Buffer.from(table),
      blob: new Blob([table]),
      file: new File([table], "table.csv"),
      address: new URL("../fixtures/table.csv", import.meta.url),
    };
    for (const [name, file] of Object.entries(files)) {
      const request = { name, file, inputKeys: ["question"], outputKeys: ["answer"] };
      const { id: datasetId } = sync.datasets.createFromCsv(request);
      expect(sync.examples.list({ datasetId })).toHaveLength(2);
      expect(sync.datasets.exportOpenAi({ datasetId: datasetId })[0]).toContain("one");
    }
    const source = { file: new ReadableStream(), inputKeys: ["question"] } as never;
    expect(() => sync.datasets.createFromCsv(source)).toThrow(ValidationError);
  });

  test("an error has the same class, and its stack names the caller", async () => {
    const { sync } = clientOf(url);
    function readConfiguration(resources: SyncResources): unknown {
      return resources.projects.read({ projectName: "absent" });
    }
    const error = errorOf(() => readConfiguration(sync));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({
      code: "NOT_FOUND",
      message:
        'Project[name=absent] not found. Create it with client.projects.create({ name: "absent" }), or check the endpoint and the tenant of the key',
    });
    const [worker, caller] = error.stack!.split("called by client.sync.projects.read, from");
    expect(worker).toContain("at Projects.read");
    expect(caller?.trim()).toMatch(/^at readConfiguration .*resources\.slow\.test\.ts/);
    const bad = errorOf(() => sync.runs.read("no id"));
    expect(bad).toBeInstanceOf(ValidationError);
    expect(bad.message).toBe(
      'Invalid UUID for run id: "no id". Pass the id as the server returned it: 32 hexadecimal digits grouped 8-4-4-4-12',
    );
    const conflictError = errorOf(() => ["a", "a"].map((name) => sync.projects.create({ name })));
    expect(conflictError).toMatchObject({ code: "CONFLICT", status: 409 });
    expect((conflictError as ConflictError).requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test("a server that can't be reached is a NetworkError with its cause", () => {
  const { sync } = clientOf("http://127.0.0.1:1");
  const error = errorOf(() => sync.tenant.settings());
  expect(error).toMatchObject({ code: "NETWORK", retryable: true });
  expect(error.cause).toMatchObject({ code: "ECONNREFUSED" });
});

test("ten megabytes arrive completely", async () => {
  const { sync } = clientOf((await scriptedServer()).endpoint);
  const [project] = sync.projects.list({ projectName: "bytes-10000000" });
  expect(project?.description).toHaveLength(10_000_000);
});

test("arguments that can't be transferred are refused, and so is a signal", () => {
  const { sync } = clientOf("http://localhost:9");
  const projects = sync.projects as unknown as { list(filter: object): unknown };
  const signal = AbortSignal.timeout(1);
  expect(errorOf(() => projects.list({ signal }))).toMatchObject({
    code: "VALIDATION",
    message:
      "A blocking call takes no signal, because the blocked thread could not abort it; pass timeoutMs instead",
  });
  const error = errorOf(() => projects.list({ name: () => "n" }));
  expect(error.message).toMatch(/^A blocking call can't take a function/);
  expect(error.stack).not.toContain("src/sync");
});

test("a key never shows in an error, nor does a header", () => {
  const client = new Client({
    endpoint: "http://127.0.0.1:1",
    apiKey: "secret-key",
    headers: { "x-own": "secret-header" },
    attempts: 1,
  });
  onTestFinished(async () => void (await client.close()));
  const error = errorOf(() => client.sync.tenant.settings());
  expect(JSON.stringify([error, error.stack, error.message, error.cause])).not.toContain("secret");
});

test("a client that is closed refuses", async () => {
  const { endpoint } = await scriptedServer();
  const client = clientOf(endpoint);
  const { sync } = client;
  expect(sync.projects.has({ projectName: "p" })).toBe(true);
  await client.close();
  expect(errorOf(() => sync.projects.has({ projectName: "p" }))).toMatchObject({
    code: "CLOSED",
    message:
      "Failed to make the call client.sync.projects.has: the client is closed. Make the call before client.close(), or create another Client",
  });
});

function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
