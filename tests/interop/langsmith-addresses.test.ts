import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client as MovedClient } from "@millrace/langsmith";
import { traceable as movedTraceable } from "@millrace/langsmith/traceable";
import { Client as TodaysClient } from "langsmith";
import { traceable as todaysTraceable } from "langsmith/traceable";
import { Client as OldClient } from "langsmith-0.1";
import { traceable as oldTraceable } from "langsmith-0.1/traceable";
import { Client as NewestClient } from "langsmith-0.12";
import { traceable as newestTraceable } from "langsmith-0.12/traceable";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import { toArray, unique } from "./langsmith/test-server.ts";
import { versions } from "./langsmith/methods.ts";
import type { Version } from "./langsmith/methods.ts";

// Uses a server that requires a key, under each form of its address that a client may be configured with.

const apiKey = "secret";
let server: RunningServer;
let reader: Client;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:", apiKeys: [apiKey] });
  reader = new Client({ endpoint: server.url, apiKey });
});

afterAll(async () => {
  await reader.close();
  await server.close();
});

function clientOf(
  version: Version,
  options: { readonly apiUrl: string; readonly apiKey?: string; readonly workspaceId?: string },
): OldClient {
  if (version === "langsmith-0.1") {
    return new OldClient(options);
  }
  const classes = {
    langsmith: TodaysClient,
    "langsmith-0.12": NewestClient,
    "@millrace/langsmith": MovedClient,
  };
  const client = new classes[version](options);
  onTestFinished(() => {
    client.cleanup();
  });
  return client as unknown as OldClient;
}

const traceables = {
  "langsmith-0.1": oldTraceable,
  langsmith: todaysTraceable as unknown,
  "langsmith-0.12": newestTraceable as unknown,
  "@millrace/langsmith": movedTraceable as unknown,
};

describe.each(versions)("%s", (version) => {
  const traceable = traceables[version] as typeof oldTraceable;

  test.each(["", "/", "/api/v1", "/api/v1/"])(
    "traces, and keeps examples, with the address that ends in '%s'",
    async (suffix) => {
      const client = clientOf(version, { apiUrl: `${server.url}${suffix}`, apiKey });
      const project = unique("place");
      const work = traceable((n: number) => n * 2, {
        client,
        project_name: project,
        tracingEnabled: true,
      });
      await work(21);
      await client.awaitPendingTraceBatches();
      const runs = await reader.runs.list({ projectNames: [project] }).toArray();
      expect(runs).toMatchObject([{ inputs: { input: 21 }, outputs: { outputs: 42 } }]);

      const { id: datasetId } = await client.createDataset(unique("dataset"));
      const example = await client.createExample({ n: 1 }, { double: 2 }, { datasetId });
      await client.updateExample(example.id, { outputs: { double: "two" } });
      const examples = await toArray(client.listExamples({ datasetId }));
      expect(examples).toMatchObject([{ id: example.id, outputs: { double: "two" } }]);
    },
  );

  test.each([undefined, "wrong"])("is refused with the key %s", async (wrongKey) => {
    const client = clientOf(version, {
      apiUrl: server.url,
      ...(wrongKey !== undefined && { apiKey: wrongKey }),
    });
    const name = unique("dataset");
    await expect(client.createDataset(name)).rejects.toThrow("401");
    await expect(client.readProject({ projectName: "default" })).rejects.toThrow("401");
    expect(await reader.datasets.has({ datasetName: name })).toBe(false);
  });
});

test("langsmith 0.10 may name the key's own workspace, and no other", async () => {
  const { id: workspaceId } = await reader.tenant.settings();
  const sameWorkspace = clientOf("langsmith", { apiUrl: server.url, apiKey, workspaceId });
  const { id } = await sameWorkspace.createProject({ projectName: unique("project") });
  expect(await reader.projects.has({ projectId: id })).toBe(true);
  const otherWorkspace = clientOf("langsmith", {
    apiUrl: server.url,
    apiKey,
    workspaceId: crypto.randomUUID(),
  });
  await expect(otherWorkspace.readProject({ projectId: id })).rejects.toThrow("403");
});
