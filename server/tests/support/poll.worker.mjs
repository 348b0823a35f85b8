// Sends requests to a server, each after the previous response, and measures how long each response takes. Subtracts
// the time in which the server's thread or this one was ready to run but the machine ran something else.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const { url, method, path, headers, body, everyMs, threadCount } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Sends one request and resolves to its status. Replaces `%id%` in the body by a new UUID. */
const ask = () =>
  new Promise((resolve, reject) => {
    const content = body === undefined ? undefined : body.replaceAll("%id%", randomUUID());
    const type = content === undefined ? {} : { "content-type": "application/json" };
    const sent = request(`${url}${path}`, { method, agent, headers: { ...headers, ...type } });
    sent.on("error", reject);
    sent.on("response", (answer) => {
      answer.on("error", reject);
      answer.on("end", () => resolve(answer.statusCode)).resume();
    });
    sent.end(content);
  });

const tasks = "/proc/self/task";

/** Nanoseconds that a thread ran, and that it waited for a core; zeros if the system does not count them. */
const timesOf = (file) => {
  try {
    return readFileSync(file, "utf8").split(" ").map(Number);
  } catch {
    return [0, 0];
  }
};

const readRan = () => {
  try {
    return new Map(readdirSync(tasks).map((id) => [id, timesOf(`${tasks}/${id}/schedstat`)[0]]));
  } catch {
    return new Map();
  }
};

/** Finds the threads of the server: those that run most while the server handles requests and does nothing else. */
const findThreads = async () => {
  for (let turn = 0; turn < 30; turn += 1) {
    await ask();
  }
  const before = readRan();
  const [own] = timesOf("/proc/thread-self/schedstat");
  for (let turn = 0; turn < 150; turn += 1) {
    await ask();
  }
  const ownRan = timesOf("/proc/thread-self/schedstat")[0] - own;
  const ran = [...readRan()].map(([id, time]) => [id, time - (before.get(id) ?? 0)]);
  // This thread is among them; it is the one whose time is closest to its own measurement.
  const self = ran.toSorted(([, a], [, b]) => Math.abs(a - ownRan) - Math.abs(b - ownRan))[0]?.[0];
  return ran
    .filter(([id]) => id !== self && id !== String(process.pid))
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, threadCount)
    .map(([id]) => `${tasks}/${id}/schedstat`);
};

const threads = [...(await findThreads()), "/proc/thread-self/schedstat"];
const readWaitedMs = () => threads.reduce((sum, file) => sum + timesOf(file)[1], 0) / 1e6;

const result = { polls: 0, worstMs: 0, worstWithWaitsMs: 0, statuses: {} };
let isStopped = false;
parentPort.once("message", () => {
  isStopped = true;
});
parentPort.postMessage("ready");
while (!isStopped) {
  const waited = readWaitedMs();
  const start = performance.now();
  const status = await ask().catch(String);
  const tookMs = performance.now() - start;
  result.polls += 1;
  result.statuses[status] = (result.statuses[status] ?? 0) + 1;
  result.worstWithWaitsMs = Math.max(result.worstWithWaitsMs, tookMs);
  result.worstMs = Math.max(result.worstMs, tookMs - Math.max(0, readWaitedMs() - waited));
  await wait(everyMs);
}
agent.destroy();
parentPort.postMessage(result);
parentPort.close();
