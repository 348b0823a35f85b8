import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";

const script = fileURLToPath(new URL("../../cli/dist/millrace.js", import.meta.url));

/** Starts `millrace serve`, and resolves when it listens. */
async function serve(dataDir: string, port: string): Promise<{ child: ChildProcess; url: string }> {
  const args = [script, "serve", "--port", port, "--data", dataDir];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: /http:\S+/.exec(line.toString())?.[0] ?? "" };
}

test("a server that is restarted with SIGTERM while the SDK sends at a steady rate refuses no run and loses none", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-restart-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  let { child, url } = await serve(dataDir, "0");
  const client = new Client({ endpoint: url, projectName: "steady", firstDelayMs: 10 });
  onTestFinished(() => void client.close());
  let recorded = 0;
  let isSending = true;
  const sending = (async () => {
    while (isSending) {
      client.startRun({ name: `run ${recorded}` }).end({ n: recorded });
      recorded += 1;
      await sleep(5);
    }
  })();
  for (let restart = 0; restart < 2; restart += 1) {
    const before = recorded;
    await expect.poll(() => recorded, { timeout: 20_000 }).toBeGreaterThan(before + 50);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    ({ child, url } = await serve(dataDir, new URL(url).port));
  }
  const before = recorded;
  await expect.poll(() => recorded, { timeout: 20_000 }).toBeGreaterThan(before + 50);
  isSending = false;
  await sending;
  await client.flush({ timeoutMs: 60_000 });
  const { lost } = client.stats();
  expect(Object.entries(lost).filter(([, count]) => count > 0)).toEqual([]);
  const runs = await client.runs.list({ projectNames: ["steady"], select: ["name"] }).toArray();
  expect(runs.length).toBe(recorded);
  expect(new Set(runs.map(({ name }) => name)).size).toBe(recorded);
}, 120_000);

/** Sends a request on a connection that is kept, and reads its response. */
async function get(url: string, agent: Agent): Promise<IncomingMessage> {
  const sent = request(url, { agent }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response;
}

test("a server that drains is not ready, goes on serving, and closes each connection with its response", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:", drainSeconds: 8 });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const ready = await get(`${server.url}/health/ready`, agent);
  expect([ready.statusCode, ready.headers.connection]).toEqual([200, "keep-alive"]);
  const closed = server.close();
  await expect
    .poll(async () => (await get(`${server.url}/health/ready`, agent)).statusCode, { interval: 20 })
    .toBe(503);
  const served = await get(`${server.url}/sessions`, agent);
  expect([served.statusCode, served.headers.connection]).toEqual([200, "close"]);
  await closed;
  await expect(get(`${server.url}/info`, agent)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
});
