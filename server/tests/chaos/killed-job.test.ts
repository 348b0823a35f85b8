import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { startServer } from "@millrace/server";
import { expect, onTestFinished, test } from "vitest";
import { call, temporaryFolder } from "../support/running-server.ts";
import type { Json } from "../support/running-server.ts";
import { someMicros, wireRun } from "../support/wire-runs.ts";

const program = fileURLToPath(new URL("../support/serve-and-write.mjs", import.meta.url));
const runCount = 4_000;

const textOf = (json: Json, name: string): string => JSON.stringify(json[name]).slice(1, -1);
const doneOf = ({ progress }: Json): number => Number(JSON.stringify(progress?.["done"]));

/** Serves a folder in a process of its own. */
async function serve(folder: string) {
  const child = spawn(process.execPath, [program, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url };
}

test("an export whose server was killed fails at the next start, and is not performed again", async () => {
  const folder = await temporaryFolder();
  const { child, url } = await serve(folder);
  const first = { url };
  const project = textOf((await call(first, "POST /sessions", { body: { name: "p" } })).json, "id");
  const run = wireRun({ session_id: project });
  expect((await call(first, "POST /runs", { body: run })).status).toBe(202);
  const body = { session: [project], format: "jsonl" };
  const job = textOf((await call(first, "POST /ui/runs/export", { body })).json, "job_id");
  const read = async (server: { readonly url: string }) =>
    (await call(server, `GET /ui/jobs/${job}`)).json;
  expect(await read(first)).toMatchObject({ state: "running" });
  child.kill("SIGKILL");
  await once(child, "exit");

  const second = await startServer({ port: 0, dataDir: folder });
  onTestFinished(() => second.close());
  // The lease of the server that was killed does not have to run out first.
  await expect
    .poll(() => read(second), { timeout: 5_000 })
    .toMatchObject({
      state: "failed",
      error:
        "the server that performed the job has ended, or could not reach the database; start a new job",
      progress: { done: 0, total: 1 },
    });
}, 60_000);

test("a job whose server was killed continues at the next start, and creates no example twice", async () => {
  const folder = await temporaryFolder();
  const { child, url } = await serve(folder);
  const first = { url };
  const project = textOf((await call(first, "POST /sessions", { body: { name: "p" } })).json, "id");
  const post = Array.from({ length: runCount }, (_, index) =>
    wireRun({ micros: someMicros + index, session_id: project, inputs: { index } }),
  );
  expect((await call(first, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const dataset = textOf((await call(first, "POST /datasets", { body: { name: "d" } })).json, "id");
  const parameters = { runs: { session: [project] }, dataset_id: dataset, includes_outputs: false };
  const body = { kind: "runs.add_to_dataset", parameters };
  const job = textOf((await call(first, "POST /ui/jobs", { body })).json, "id");
  const read = async (server: { readonly url: string }) =>
    (await call(server, `GET /ui/jobs/${job}`)).json;
  await expect.poll(async () => doneOf(await read(first)), { interval: 5 }).toBeGreaterThan(0);
  child.kill("SIGKILL");
  await once(child, "exit");

  const second = await startServer({ port: 0, dataDir: folder });
  onTestFinished(() => second.close());
  const resumed = await read(second);
  expect(doneOf(resumed)).toBeLessThan(runCount);
  await expect
    .poll(async () => textOf(await read(second), "state"), { timeout: 60_000 })
    .toBe("succeeded");
  expect(await read(second)).toMatchObject({
    progress: { done: runCount, total: runCount, figures: { examples_added: runCount } },
  });
  const { json } = await call(second, `GET /examples/count?dataset=${dataset}`);
  expect(json).toBe(runCount);
}, 120_000);
