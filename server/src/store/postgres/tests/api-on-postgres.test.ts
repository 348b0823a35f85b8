import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../../../../dist/model/options.js";
import { openTemporaryStore } from "../../../../dist/store/sqlite-store.js";
import { testServerUrl } from "../../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../../tests/support/postgres-stores.ts";
import { call } from "../../../../tests/support/running-server.ts";
import type { CallResult } from "../../../../tests/support/running-server.ts";
import { createNames, createResources } from "../../../../tests/support/tenant-story.ts";
import type { SendRequest } from "../../../../tests/support/tenant-story.ts";
import { callEverything } from "../../../../tests/support/whole-api-story.ts";
import type { Store } from "../../store.ts";

/** Calls each route of a server, and returns the responses in their order. */
async function callAll(store: Store): Promise<readonly (readonly [string, CallResult])[]> {
  const settings = parseServerOptions({ dataDir: memoryDataDir });
  const app = createApp(store, { ...settings, modelToken: "unused" });
  onTestFinished(() => app.close());
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const calls: (readonly [string, CallResult])[] = [];
  const send: SendRequest = async (target, init = {}) => {
    const response = await call({ url }, target, init);
    calls.push([target.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\?.*/g, ""), response]);
    // The story goes on without what can't be created yet.
    return response.status === 501
      ? {
          ...response,
          status: 200,
          json: { id: randomUUID() } as unknown as CallResult["json"],
        }
      : response;
  };
  const names = await createResources(send, { ...createNames(), owner: "-" }, "mark");
  await callEverything(send, names);
  return calls;
}

test.skipIf(testServerUrl === undefined)(
  "each call is answered with the same status as with SQLite, or with 501 and a sentence",
  async () => {
    const stores = await PostgresStores.create();
    onTestFinished(() => stores.close());
    const sqlite = await openTemporaryStore();
    onTestFinished(() => sqlite.close());
    const expected = await callAll(sqlite);
    const found = await callAll(await stores.open());
    const different = found.flatMap(([target, response], index) => {
      const wanted = expected[index]?.[1].status;
      const isRefused = response.status === 501 && response.text.includes("PostgreSQL");
      return response.status === wanted || isRefused
        ? []
        : [{ target, wanted, status: response.status, text: response.text.slice(0, 200) }];
    });
    expect(found.map(([target]) => target)).toEqual(expected.map(([target]) => target));
    expect(different).toEqual([]);
    expect(found.length).toBeGreaterThan(300);
  },
);
