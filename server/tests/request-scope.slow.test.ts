import { AsyncLocalStorage } from "node:async_hooks";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../dist/model/options.js";
import { openTemporaryStore } from "../dist/store/sqlite-store.js";
import type { Promised } from "../src/storage/promised.ts";
import type { ResourceCall } from "../src/storage/thread-reply.ts";
import { invokeMethod } from "../src/storage/thread-reply.ts";
import type { Readers, Writers } from "../src/store/repositories.ts";
import { createResourceProxy } from "../src/store/resource-proxy.ts";
import { ScopedStore } from "../src/store/scoped-store.ts";
import type { Store } from "../src/store/store.ts";
import { call } from "./support/running-server.ts";
import { createNames, createResources, listProbes } from "./support/tenant-story.ts";
import type { Names, SendRequest } from "./support/tenant-story.ts";
import { callEverything } from "./support/whole-api-story.ts";

type ReportCall = (call: ResourceCall<Readers> | ResourceCall<Writers>) => void;

/** A store that reports the calls that are not made for a request, but for the server itself. */
class ReportingStore extends ScopedStore {
  constructor(store: Store, report: ReportCall) {
    const callOf = async <Resources extends object>(
      resources: Promised<Resources>,
      resourceCall: ResourceCall<Resources>,
    ): Promise<unknown> => invokeMethod(resources, resourceCall as never);
    super(store, {
      read: createResourceProxy<Readers>((readerCall) => {
        report(readerCall);
        return callOf(store.read, readerCall);
      }),
      write: createResourceProxy<Writers>((writerCall) => {
        report(writerCall);
        return callOf(store.write, writerCall);
      }),
    });
  }
}

/** The calls of the audit log and of the sender of webhooks, which a request may wake. */
const callsOfServer: ReadonlySet<string> = new Set([
  "audit.record",
  "webhooks.listDue",
  "webhooks.readTarget",
  "webhooks.record",
]);

/** Requests of the UI whose probes are answered before they read anything. */
const listMoreRequests = (names: Names): readonly (readonly [string, object?])[] => [
  [
    `POST /ui/rules/${names.rule}/apply`,
    { from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z" },
  ],
  [
    `PATCH /ui/rules/${names.rule}`,
    { action: { kind: "webhook", webhook_id: names.webhook }, is_enabled: true },
  ],
  [`PATCH /ui/alerts/${names.alert}`, { webhook_id: names.webhook }],
  ["GET /ui/experiments/jobs"],
];

test("all that a request reads and writes takes turns with other tenants and is recorded as the client's", async () => {
  const store = await openTemporaryStore();
  onTestFinished(() => store.close());
  const requests = new AsyncLocalStorage<string>();
  const found = new Set<string>();
  const reporting = new ReportingStore(store, ({ resource, method }) => {
    const route = requests.getStore();
    if (route !== undefined && !callsOfServer.has(`${resource}.${method}`)) {
      found.add(`${route}: ${resource}.${method}`);
    }
  });
  const settings = parseServerOptions({ dataDir: memoryDataDir });
  const app = createApp(reporting, { ...settings, modelToken: "unused" });
  onTestFinished(() => app.close());
  app.addHook("onRequest", ({ method, routeOptions: { url = "" } }, _reply, done) =>
    requests.run(`${method} ${url}`, done),
  );
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const send: SendRequest = (target, init) => call({ url }, target, init);
  await callEverything(send, await createResources(send, { ...createNames(), owner: "-" }, "one"));
  const names = await createResources(send, { ...createNames(), owner: "-" }, "two");
  for (const [target, body] of listMoreRequests(names)) {
    await send(target, { body });
  }
  for (const [route, probes] of Object.entries(listProbes(names))) {
    for (const { path, ...init } of route.startsWith("DELETE") ? [] : probes) {
      await send(`${String(route.split(" ")[0])} ${path}`, init);
    }
  }
  expect([...found]).toEqual([]);
}, 30_000);
