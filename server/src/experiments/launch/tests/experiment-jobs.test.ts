import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../../../../dist/model/options.js";
import { openTemporaryStore } from "../../../../dist/store/sqlite-store.js";
import { experimentJobKind } from "../experiment-job.ts";

test("the job of an experiment is listed, however many jobs of other kinds are newer", async () => {
  const store = await openTemporaryStore();
  onTestFinished(() => store.close());
  const { jobs } = store.write;
  const createCanceled = async (kind: string): Promise<string> => {
    const parameters = { experiment_id: randomUUID(), target: { name: "first try" } };
    const { id } = await jobs.create(store.defaultTenantId, {
      kind,
      title: "Test",
      parameters,
      total: null,
    });
    await jobs.cancel(store.defaultTenantId, id);
    return id;
  };
  const id = await createCanceled(experimentJobKind);
  for (let count = 0; count < 250; count += 1) {
    await createCanceled("other");
  }
  const settings = parseServerOptions({ dataDir: memoryDataDir });
  const app = createApp(store, { ...settings, modelToken: "unused" });
  onTestFinished(() => app.close());
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const response = await fetch(`${url}/ui/experiments/jobs`);
  expect(await response.json()).toMatchObject({ jobs: [{ id, name: "first try" }] });
});
