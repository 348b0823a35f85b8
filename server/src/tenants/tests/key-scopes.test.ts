import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyStore, startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { endpoints, keyScopes, uiEndpoints } from "millrace/model";
import type { Endpoint, KeyScope } from "millrace/model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkEndpoints } from "../../http/link-endpoints.ts";
import { v2Endpoints } from "../../http/v2-endpoints.ts";

let server: RunningServer;
let dataDir: string;
const keys = new Map<KeyScope, string>();

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-scopes-"));
  server = await startServer({ port: 0, dataDir });
  const store = new KeyStore(dataDir);
  for (const scope of keyScopes) {
    keys.set(scope, (await store.create({ name: scope, scopes: [scope] })).key);
  }
  store.close();
});

afterAll(async () => {
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

const send = (scope: KeyScope, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(server.url + path, {
    method,
    headers: { "x-api-key": keys.get(scope) ?? "", "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const id = "0190a6c2-1f0a-7000-8000-000000000001";

/** Whether a key with only this scope is refused for an endpoint because of its scope. */
async function isRefused(scope: KeyScope, { method, path }: Endpoint): Promise<boolean> {
  const response = await send(
    scope,
    method,
    path.replaceAll(/:\w+/g, id),
    method === "GET" ? undefined : {},
  );
  if (response.status !== 403) {
    // The live feed does not end by itself.
    await response.body?.cancel();
    return false;
  }
  return (await response.text()).includes("needs an API key with the scope");
}

const all: Readonly<Record<string, Endpoint>> = { ...endpoints, ...uiEndpoints, ...v2Endpoints };
const publicPaths = new Set(Object.values<Endpoint>(linkEndpoints).map(({ path }) => path));
const names = Object.keys(all).filter((name) => {
  const { path = "" } = all[name] ?? {};
  return (
    !publicPaths.has(path) &&
    !/public|tokens\/:token|feedback-forms|export\/:token|\/info$/.test(path)
  );
});

/** The names of the endpoints, other than GET, that a key with only this scope may use. */
async function allowedWrites(scope: KeyScope): Promise<readonly string[]> {
  const allowed: string[] = [];
  for (const name of names) {
    const endpoint = all[name];
    if (
      endpoint !== undefined &&
      endpoint.method !== "GET" &&
      !(await isRefused(scope, endpoint))
    ) {
      allowed.push(name);
    }
  }
  return allowed;
}

describe("a key permits", () => {
  test("with ingest: sending runs, spans and feedback, and nothing else", async () => {
    expect(await allowedWrites("ingest")).toEqual([
      "createRun",
      "updateRun",
      "sendBatch",
      "sendMultipart",
      "createFeedback",
      "sendSpans",
      "reportStats",
    ]);
    const readable: string[] = [];
    for (const name of names) {
      const endpoint = all[name];
      if (endpoint?.method === "GET" && !(await isRefused("ingest", endpoint))) {
        readable.push(name);
      }
    }
    expect(readable).toEqual([]);
  });

  test("with read: queries that are sent as POST, and no change", async () => {
    expect(await allowedWrites("read")).toEqual([
      "queryRuns",
      "runStats",
      "searchDataset",
      "readDatasetRuns",
      "checkExamples",
      "checkFilter",
      "searchRuns",
      "countRunFacets",
      "exportRuns",
      "estimateExperiments",
      "compareExperiments",
      "queryV2Runs",
      "queryV2Threads",
      "queryV2Traces",
      "readV2ThreadsStats",
      "queryV2ExperimentRuns",
    ]);
  });

  test("with write: everything but the administration of the tenant", async () => {
    const allowed = new Set(await allowedWrites("write"));
    const refused = names.filter((name) => all[name]?.method !== "GET" && !allowed.has(name));
    expect(refused).toEqual([
      "setTenantHandle",
      "createKey",
      "revokeKey",
      "createTenant",
      "setRetention",
      "setPrices",
      "removePrice",
      "recomputeCosts",
    ]);
    expect(await isRefused("write", endpoints.listProjects)).toBe(false);
    expect(await isRefused("write", uiEndpoints.listKeys)).toBe(true);
  });

  test("with admin: everything", async () => {
    const admin = await send("admin", "POST", "/ui/keys", { name: "reader", scopes: ["read"] });
    expect(admin.status).toBe(201);
    const { key } = (await admin.json()) as { readonly key: string };
    const post = await fetch(`${server.url}/sessions`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: '{"name":"p"}',
    });
    expect(post.status).toBe(403);
    expect(await post.json()).toEqual({
      detail:
        'this request needs an API key with the scope write, and the key has read: use another key, or create one with "millrace keys create --scope write"',
    });
    const listed = (await (await send("admin", "GET", "/ui/keys")).json()) as readonly {
      readonly name: string;
      readonly scopes: readonly string[];
    }[];
    expect(listed.find(({ name }) => name === "reader")?.scopes).toEqual(["read"]);
  });

  test("what each of its scopes permits", async () => {
    const store = new KeyStore(dataDir);
    const { key } = await store.create({ scopes: ["read", "ingest"] });
    await expect(store.create({ scopes: [] })).rejects.toThrow("one or more of ingest, read");
    store.close();
    const headers = { "x-api-key": key, "content-type": "application/json" };
    expect((await fetch(`${server.url}/sessions`, { headers })).status).toBe(200);
    const run = {
      id,
      trace_id: id,
      name: "a",
      run_type: "chain",
      start_time: "2026-01-01T00:00:00.000Z",
      dotted_order: `20260101T000000000000Z${id}`,
    };
    const sent = await fetch(`${server.url}/runs`, {
      method: "POST",
      headers,
      body: JSON.stringify(run),
    });
    expect(sent.status).toBe(202);
    const created = await fetch(`${server.url}/datasets`, {
      method: "POST",
      headers,
      body: '{"name":"d"}',
    });
    expect(created.status).toBe(403);
  });
});
