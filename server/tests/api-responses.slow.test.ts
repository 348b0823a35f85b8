import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../dist/model/options.js";
import { openTemporaryStore } from "../dist/store/sqlite-store.js";
import { DescribedApi } from "./support/described-api.ts";
import type { ApiDocument } from "./support/described-api.ts";
import { call } from "./support/running-server.ts";
import { createNames, createResources } from "./support/tenant-story.ts";
import type { SendRequest } from "./support/tenant-story.ts";
import { callEverything } from "./support/whole-api-story.ts";

// Requests and responses of a real server, against its own description.

/** A server in this thread, and the last value that a handler returned and Fastify had to write. */
async function runApp() {
  const store = await openTemporaryStore();
  const app = createApp(store, {
    ...parseServerOptions({ dataDir: memoryDataDir }),
    modelToken: "unused",
  });
  onTestFinished(async () => {
    await app.close();
    await store.close();
  });
  let returned: unknown;
  app.addHook("preSerialization", async (_request, _reply, payload) => {
    returned = payload;
    return payload;
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return {
    url,
    takeReturned: () => {
      const value = returned;
      returned = undefined;
      return value;
    },
  };
}

async function callAll() {
  const server = await runApp();
  const { json } = await call(server, "GET /openapi.json");
  const api = new DescribedApi(json as unknown as ApiDocument);
  const faults: string[] = [];
  const changed: unknown[] = [];
  const send: SendRequest = async (target, init = {}) => {
    server.takeReturned();
    const answer = await call(server, target, init);
    faults.push(...api.check(target, init, answer));
    const returned = server.takeReturned();
    if (returned !== undefined) {
      const expected: unknown = JSON.parse(JSON.stringify(returned));
      if (JSON.stringify(sorted(JSON.parse(answer.text))) !== JSON.stringify(sorted(expected))) {
        changed.push({ target, sent: answer.text, expected });
      }
    }
    return answer;
  };
  const names = await createResources(send, { ...createNames(), owner: "-" }, "mark");
  await callEverything(send, names);
  return { api, faults, changed };
}

/** The same value with the members of objects in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  return typeof value === "object" && value !== null
    ? Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, member]) => [name, sorted(member)])
    : value;
}

test("every request and response is as /openapi.json describes it, and no member is lost", async () => {
  const { api, faults, changed } = await callAll();
  expect(faults).toEqual([]);
  expect(changed).toEqual([]);
  expect(api.undescribed).toEqual([]);
  expect(api.described.length).toBeGreaterThan(150);
  expect(api.described.filter((one) => !api.seen.has(one))).toEqual([]);
});
