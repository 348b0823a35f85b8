import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "millrace";
import { inspectSpool } from "millrace/spool";
import { expect, test, vi } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import { runCounter } from "../support/run-counter.ts";
import { runsIn } from "../support/runs-in-body.ts";
import {
  createSpoolClient,
  listSegments,
  runUntilKilled,
  unreachable,
  useSpoolClients,
} from "../support/spool-clients.ts";
import { testSpool } from "../support/spooling.ts";
import { startStatusServer } from "../support/status-server.ts";

useSpoolClients();

/** Never responds. */
const hanging = (): undefined => undefined;

function record(created: Client, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => {
    const run = created.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(500) } });
    run.end({ i });
    return run.id;
  });
}

const recordsOnDisk = async (): Promise<number> =>
  (await inspectSpool(testSpool.folder)).reduce((sum, { records }) => sum + records, 0);

test.each([
  ["after a flush that reported pending", "away", 200],
  ["after a flush that reported pending", "hanging", 200],
  ["a second after the first failure", "away", 201],
])("%s, kill -9 loses nothing: the server is %s", async (when, state, count) => {
  await using hung = await runCounter(hanging);
  const ids = await runUntilKilled("pending-program.mjs", {
    when,
    endpoint: state === "away" ? unreachable : hung.url,
  });
  expect(ids).toHaveLength(count);
  await using server = await runCounter();
  const next = createSpoolClient(server.url);
  await vi.waitFor(() => expect(server.ended.size).toBe(count), { timeout: 12_000 });
  expect(server.ended).toEqual(new Set(ids));
  expect(server.started).toEqual(new Set(ids));
  await vi.waitFor(() => expect(listSegments()).toEqual([]));
  expect(next.stats()).toMatchObject({ accepted: 2 * count, delivered: 2 * count, dropped: 0 });
});

test("records that are on disk and delivered from memory are not sent again, and are counted once", async () => {
  const bodies: Buffer[] = [];
  let isAway = true;
  await using server = await loopbackServer({
    info: { status: 404 },
    runs: [
      (response, { body }) => {
        if (!isAway) {
          bodies.push(body);
        }
        response.writeHead(isAway ? 503 : 202).end("{}");
      },
    ],
  });
  const created = createSpoolClient(server.endpoint, { tapeBytes: 16_384, requestsInFlight: 2 });
  const ids = record(created, 100);
  expect(await created.flush({ timeoutMs: 300 })).toMatchObject({
    delivered: 0,
    lost: 0,
    pending: 200,
  });
  expect(listSegments().length).toBeGreaterThan(2);
  expect(created.stats()).toMatchObject({ accepted: 200, spooled: 0, pending: 200 });
  isAway = false;
  expect(await created.flush({ timeoutMs: 12_000 })).toMatchObject({
    delivered: 200,
    lost: 0,
    pending: 0,
  });
  expect(listSegments()).toEqual([]);
  expect(created.stats()).toMatchObject({ accepted: 200, delivered: 200, spooled: 0, dropped: 0 });
  const ended = bodies.flatMap((body) => [...runsIn(body).ended]);
  expect(ended.toSorted()).toEqual(ids.toSorted());
});

test("large records that wait for a server leave capacity for others: none is dropped", async () => {
  await using hung = await runCounter(hanging);
  const created = createSpoolClient(hung.url, {
    overflow: "spool",
    maxQueueBytes: 1_048_576,
    requestsInFlight: 8,
  });
  for (let i = 0; i < 20; i++) {
    created.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(70_000) } });
    // Sends the record at once, so that each is on a tape of its own.
    await created.flush({ timeoutMs: 0 });
  }
  const { accepted, pending, spooled, dropped } = created.stats();
  expect({ accepted, dropped }).toEqual({ accepted: 20, dropped: 0 });
  expect(pending).toBeGreaterThan(1);
  expect(spooled).toBe(20 - pending);
});

test("a partly delivered tape leaves only its undelivered records on disk", async () => {
  // Status 500 applies to the whole batch, so it is retried and not halved.
  let requests = 0;
  await using server = await loopbackServer({
    info: { body: JSON.stringify({ version: "0.1.0", batch_ingest_config: { size_limit: 10 } }) },
    runs: [(response) => response.writeHead(requests++ === 0 ? 202 : 503).end("{}")],
  });
  const created = createSpoolClient(server.endpoint);
  // Lets the client learn the request limit of the server.
  record(created, 1);
  await created.flush({ timeoutMs: 5_000 });
  await vi.waitFor(() => expect(created.stats().server?.version).toBe("0.1.0"));
  requests = 0;
  const ids = record(created, 40);
  const { pending } = await created.flush({ timeoutMs: 400 });
  expect(pending).toBe(80);
  await created.close({ timeoutMs: 0 });
  expect(created.stats()).toMatchObject({ delivered: 22, spooled: 60, pending: 0, dropped: 0 });
  await using laterServer = await runCounter();
  createSpoolClient(laterServer.url);
  await vi.waitFor(() => expect(laterServer.ended.size).toBe(30), { timeout: 12_000 });
  expect(ids).toEqual(expect.arrayContaining([...laterServer.ended]));
});

test("if only the first attempt fails and the second follows soon, nothing is written", async () => {
  /** The time between the first and the second attempt, and the files seen in the folder meanwhile. */
  async function deliverAtSecondTry(): Promise<{ gapMs: number; seenFiles: readonly string[] }> {
    const attemptTimes: number[] = [];
    await using server = await loopbackServer({
      info: { status: 404 },
      runs: [
        (response) => {
          attemptTimes.push(performance.now());
          response.writeHead(attemptTimes.length === 1 ? 503 : 202).end("{}");
        },
      ],
    });
    const created = createSpoolClient(server.endpoint);
    record(created, 10);
    // An attempt before this one that was too slow leaves the folder of its client.
    const filesBefore = new Set(readdirSync(testSpool.folder));
    const seenFiles: string[] = [];
    const watch = setInterval(
      () =>
        seenFiles.push(...readdirSync(testSpool.folder).filter((name) => !filesBefore.has(name))),
      1,
    );
    const result = await created.flush({ timeoutMs: 10_000 });
    clearInterval(watch);
    expect(result.delivered).toBe(20);
    expect(created.stats().retries).toBe(1);
    expect(listSegments()).toEqual([]);
    const [first = 0, second = 0] = attemptTimes;
    return { gapMs: second - first, seenFiles };
  }
  // On a busy machine the second attempt may come after the moment when failed records are written.
  await vi.waitFor(
    async () => {
      const { gapMs, seenFiles } = await deliverAtSecondTry();
      expect(gapMs).toBeLessThan(400);
      expect(seenFiles).toEqual([]);
    },
    { timeout: 60_000, interval: 10 },
  );
}, 90_000);

test("records that are dropped at the queue's limit are also removed from disk", async () => {
  const server = await startStatusServer(503);
  const created = createSpoolClient(server.url, {
    overflow: "drop-oldest",
    maxQueueBytes: 65_536,
    tapeBytes: 16_384,
    requestsInFlight: 1,
  });
  record(created, 60);
  await created.flush({ timeoutMs: 300 });
  expect(await recordsOnDisk()).toBe(created.stats().pending);
  record(created, 400);
  await created.flush({ timeoutMs: 300 });
  const { accepted, pending, lost } = created.stats();
  expect(lost.queueFull).toBeGreaterThan(0);
  expect(accepted).toBe(pending + lost.queueFull);
  expect(await recordsOnDisk()).toBe(pending);
});

test("an unwritable disk causes a warning, and loses nothing that is in memory", async () => {
  const server = await startStatusServer(503);
  const lines: string[] = [];
  const created = createSpoolClient(server.url, {
    spoolQuotaBytes: 65_536,
    logger: { warn: (line) => lines.push(line) },
  });
  record(created, 400);
  expect(await created.flush({ timeoutMs: 300 })).toMatchObject({ pending: 800, lost: 0 });
  expect(created.stats().warnings).toMatchObject({ spoolUnwritable: 1 });
  // The warning is logged in the next turn of the event loop.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(lines.join("\n")).toMatch(/The spool: .*(quota|spoolQuotaBytes)/);
  server.status = 202;
  expect(await created.flush({ timeoutMs: 12_000 })).toMatchObject({ delivered: 800 });
});

test("records that are masked for the disk are masked and counted once", async () => {
  const server = await startStatusServer(503);
  const created = createSpoolClient(server.url, { redact: ["secrets"], attempts: 1 });
  const secret = "correct horse battery";
  created.startRun({ name: "run", inputs: { password: secret } }).end({});
  // Flushes before a worker has the tape.
  await created.flush({ timeoutMs: 0 });
  const [file = ""] = listSegments();
  expect(readFileSync(join(testSpool.folder, file), "latin1")).not.toContain(secret);
  expect(readFileSync(join(testSpool.folder, file), "latin1")).toContain("password");
  await vi.waitFor(() => expect(created.stats().redacted).toBe(1), { timeout: 10_000 });
  await created.close({ timeoutMs: 0 });
  expect(created.stats()).toMatchObject({ spooled: 2, redacted: 1 });
});
