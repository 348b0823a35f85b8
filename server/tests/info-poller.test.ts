import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { pollBeside, pollInfo, pollWrites } from "./support/info-poller.ts";
import { runServer } from "./support/running-server.ts";

test("a poller measures how long the thread of a server was blocked, and a short time if it was not", async () => {
  const server = await startHoldingServer();
  const quiet = await pollBeside(server, () => fetch(`${server.url}/hold?ms=0`));
  expect(quiet.info.worstMs).toBeLessThan(200);
  const held = await pollBeside(server, () => fetch(`${server.url}/hold?ms=400`));
  expect(held.info.worstMs).toBeGreaterThan(250);
  expect(held.info.statuses).toEqual({ 200: held.info.polls });
});

test("small writes and requests for /info are polled concurrently, and all writes arrive", async () => {
  const server = await runServer();
  const pollers = [await pollInfo(server), await pollWrites(server)];
  const [info, writes] = await Promise.all(pollers.map((poller) => poller.stop()));
  expect(info?.statuses).toEqual({ 200: info?.polls });
  expect(writes?.statuses).toEqual({ 202: writes?.polls });
});

/** Starts a server in a worker thread that computes for as long as a request asks. */
async function startHoldingServer(): Promise<{ readonly url: string }> {
  const worker = new Worker(holding, { eval: true });
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, "message")) as unknown[];
  return { url: `http://127.0.0.1:${String(port)}` };
}

const holding = `
  const { createServer } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  const { readFileSync } = require("node:fs");
  const ranMs = () => {
    try { return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6; }
    catch { return performance.now(); }
  };
  const server = createServer((request, response) => {
    const ms = Number(new URL(request.url, "http://h").searchParams.get("ms") ?? 0);
    for (const start = ranMs(); ranMs() - start < ms;);
    // Respond later, so that the poller can measure it.
    setTimeout(() => response.end(), ms === 0 ? 0 : 50);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;
