import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../dist/model/options.js";
import { openSqliteStore, openTemporaryStore } from "../dist/store/sqlite-store.js";
import { call } from "./support/running-server.ts";
import type { CallResult } from "./support/running-server.ts";
import { createNames, maskResponse, listProbes, createResources } from "./support/tenant-story.ts";
import type { SendRequest, Names, Probe } from "./support/tenant-story.ts";

// Each route that takes an id must respond to another tenant's id exactly as to an unknown one.

/** Routes without an id, or whose id is a secret token that authorizes its holder. */
const withoutIds: ReadonlySet<string> = new Set([
  "GET /",
  "GET /*",
  "POST /*",
  "PATCH /*",
  "PUT /*",
  "DELETE /*",
  "GET /info",
  "GET /health/live",
  "GET /health/ready",
  "GET /metrics",
  "GET /docs",
  "GET /docs/json",
  "GET /docs*",
  "GET /openapi.json",
  "GET /settings",
  "POST /settings/handle",
  "GET /attachments",
  "POST /datasets/upload",
  "GET /repos",
  "POST /repos",
  "GET /ui/filters/words",
  "POST /ui/filters/check",
  "GET /ui/live",
  "GET /ui/overview",
  "POST /ui/senders",
  "GET /ui/models",
  "POST /ui/models/calls",
  "PUT /ui/models/:name/key",
  "DELETE /ui/models/:name/key",
  "GET /ui/server",
  "GET /ui/storage",
  "GET /ui/keys",
  "GET /ui/audit",
  "GET /ui/audit/export",
  "POST /ui/keys",
  "GET /ui/tenants",
  "POST /ui/tenants",
  "GET /ui/retention",
  // Of models, and names that the operator chose for them.
  "GET /ui/models",
  "POST /ui/models/calls",
  "PUT /ui/models/:name/key",
  "DELETE /ui/models/:name/key",
  "GET /ui/jobs",
  "GET /ui/experiments/scorers",
  "GET /ui/experiments/jobs",
  // Answers that the tenant has no such dataset only to the page of the server: see `launch-routes.slow.test.ts`.
  "POST /ui/experiments/start",
  "POST /ui/jobs",
  "GET /ui/webhooks",
  "POST /ui/webhooks",
  "GET /ui/prices",
  "PUT /ui/prices",
  "POST /ui/prices/remove",
  "GET /ui/prices/models",
  "GET /ui/prices/library",
  "POST /ui/prices/recompute",
  // Tokens.
  "GET /public/:token/run",
  "GET /public/:token/datasets",
  "GET /public/:token/examples",
  "GET /public/:token/examples/count",
  "GET /ui/public/:token",
  "GET /ui/public/:token/trace",
  "GET /ui/public/:token/runs/:id",
  "GET /api/v2/public/:token/run/:id",
  "POST /api/v2/public/:token/runs/query",
  "POST /feedback/tokens/:token",
  "GET /feedback/tokens/:token",
  "GET /ui/feedback-forms/:token",
  "GET /ui/runs/export/:token",
  // Not supported, whatever the request.
  ...["GET", "POST", "PATCH", "PUT", "DELETE"].map((method) => `${method} /v2/sql/query`),
]);

/** All routes of the server, except for the HEAD routes that are added for each GET. */
async function listRoutes(): Promise<readonly string[]> {
  const store = await openTemporaryStore();
  const app = createApp(store, {
    ...parseServerOptions({ dataDir: memoryDataDir }),
    modelToken: "unused",
  });
  await app.ready();
  const tree = app.printRoutes({ commonPrefix: false });
  await app.close();
  await store.close();
  const above: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const found = /^(?<indent>[│ ]*)[├└]── (?<path>.*) \((?<methods>[A-Z, ]+)\)$/u.exec(line);
    if (found?.groups === undefined) {
      return [];
    }
    const { indent = "", path = "", methods = "" } = found.groups;
    const depth = indent.length / 4;
    const whole = (above[depth - 1] ?? "") + path;
    above.splice(depth, above.length, whole);
    const own = methods.split(", ").filter((method) => method !== "HEAD");
    return own.map((method) => `${method} ${whole}`);
  });
}

interface Scene {
  readonly server: RunningServer;
  readonly folder: string;
  /** Keys of tenants without any data. Each is used for one request only, because a request may write. */
  readonly keys: string[];
  /** The key of the tenant with data, and the names of its data. */
  readonly me: string;
  readonly mine: Names;
}

let scene: Scene;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-server-"));
  const store = await openSqliteStore(folder);
  const keyOf = async (handle: string | null): Promise<string> => {
    const { id } = await store.write.tenants.create({ handle, displayName: "one" });
    return (await store.write.tenants.createKey(id, { name: "test" })).key;
  };
  const me = await keyOf("me");
  const asked = Object.values(listProbes(createNames())).flat().length;
  const keys = await Promise.all(Array.from({ length: asked * 2 }, () => keyOf(null)));
  const other = await store.write.tenants.create({ handle: null, displayName: "with a key" });
  const { id: keyId } = await store.write.tenants.createKey(other.id, { name: "theirs" });
  const meId = (await store.read.tenants.findByHandle("me"))?.id ?? "";
  const job = { kind: "test", title: "theirs", parameters: {}, total: null };
  const { id: jobId } = await store.write.jobs.create(meId, job);
  await store.close();
  const server = await startServer({ port: 0, dataDir: folder });
  scene = { server, folder, keys, me, mine: { ...createNames(), keyId, jobId } };
  scene = { ...scene, mine: await createResources(sendAs(me), scene.mine, "mine") };
}, 60_000);

afterAll(async () => {
  await scene.server.close();
  await rm(scene.folder, { recursive: true, force: true });
});

const sendAs =
  (key: string): SendRequest =>
  (target, { body, headers } = {}) =>
    call(scene.server, target, { body, headers: { ...headers, "x-api-key": key } });

const send = (key: string | undefined, route: string, probe: Probe): Promise<CallResult> =>
  sendAs(key ?? "")(`${String(route.split(" ")[0])} ${probe.path}`, probe);

/** The comparable parts of a response, without the token of an export and without connection headers. */
function saidIn(response: CallResult) {
  const { status, headers, text } = maskResponse(response);
  return {
    status,
    // Whether the connection stays open depends on whether the body had arrived when the response was sent.
    headers: headers.filter(([name]) => name !== "connection" && name !== "keep-alive"),
    text: text.replace(/(\/ui\/runs\/export\/)[\w-]{32}/, "$1<token>"),
  };
}

/** Reads the data of `me`, as `me`. */
const readMine = async () => {
  const { root, early, experiment, dataset, example, feedback, queue } = scene.mine;
  const paths = [
    `/runs/${root}`,
    `/runs/${early}`,
    `/runs/${root}/share`,
    `/api/v2/threads/thread-1/share?project_id=${experiment}`,
    `/api/v2/runs/${root}?selects=SHARE_URL&selects=IS_IN_DATASET`,
    `/datasets/${dataset}`,
    `/datasets/${dataset}/versions`,
    `/sessions/${experiment}`,
    `/examples/${example}`,
    `/feedback/${feedback}`,
    `/feedback?run=${root}`,
    `/annotation-queues/${queue}`,
    `/annotation-queues/${queue}/size`,
  ];
  const responses = await Promise.all(
    paths.map(async (path) => [path, await sendAs(scene.me)(`GET ${path}`)] as const),
  );
  return responses.map(([path, { status, text }]) => {
    // The URL is signed again in each response.
    return [path, status, text.replaceAll(/token=[\w.-]+/g, "token=")];
  });
};

test("each route that takes an id responds to another tenant's as to an unknown one", async () => {
  const before = await readMine();
  expect(before.map(([, status]) => status)).toEqual(before.map(() => 200));
  const others = listProbes(scene.mine);
  for (const [route, probes] of Object.entries(listProbes(createNames()))) {
    for (const [index, probe] of probes.entries()) {
      const other = others[route]?.[index] ?? probe;
      const unknown = saidIn(await send(scene.keys.pop(), route, probe));
      const found = saidIn(await send(scene.keys.pop(), route, other));
      expect.soft(found, `${route}, ${JSON.stringify(probe)}`).toEqual(unknown);
    }
  }
  expect(await readMine()).toEqual(before);
}, 60_000);

test("each of these requests succeeds for the tenant that owns what it names", async () => {
  const deletes = (route: string): number => (route.startsWith("DELETE ") ? 1 : 0);
  const routes = Object.entries(listProbes({ ...scene.mine, owner: "-" })).toSorted(
    ([one], [other]) => deletes(one) - deletes(other),
  );
  const refused: unknown[] = [];
  for (const [route, probes] of routes) {
    for (const probe of probes) {
      const { status, text } = await send(scene.me, route, probe);
      // Earlier requests have deleted some of it, or created it already. A malformed request would make the previous
      // test meaningless.
      if (status >= 400 && ![404, 409].includes(status)) {
        refused.push([route, probe, status, text]);
      }
    }
  }
  expect(refused).toEqual([]);
}, 60_000);

test("every route is covered", async () => {
  const asked = new Set(Object.keys(listProbes(createNames())));
  const routes = await listRoutes();
  expect(routes.length).toBeGreaterThan(120);
  expect(routes.filter((route) => !asked.has(route) && !withoutIds.has(route))).toEqual([]);
  expect([...asked, ...withoutIds].filter((route) => !routes.includes(route))).toEqual([]);
});
