import { Client } from "millrace";
import { expect, test } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";

const quiet = { warn: () => undefined };

test("flush counts records and runs once each, including those that arrived before the call", async () => {
  await using server = await loopbackServer();
  const client = new Client({ endpoint: server.endpoint, batchLimit: 1, logger: quiet });
  const early = client.startRun({ name: "early" });
  await expect.poll(() => client.stats().delivered, { timeout: 12_000 }).toBe(1);
  early.end();
  client.startRun({ name: "late" }).end();
  const flushed = await client.flush();
  expect(flushed).toEqual({
    delivered: 4,
    pending: 0,
    lost: 0,
    runs: { delivered: 2, pending: 0, lost: 0 },
  });
  const none = { delivered: 0, pending: 0, lost: 0 };
  expect(await client.flush()).toEqual({ ...none, runs: none });
  client.startRun({ name: "last" }).end();
  expect(await client.close()).toEqual({
    delivered: 2,
    pending: 0,
    lost: 0,
    runs: { delivered: 1, pending: 0, lost: 0 },
  });
});

test("records that are pending at a flush are reported again, as lost if close drops them", async () => {
  await using server = await loopbackServer({ runs: [() => undefined] });
  const client = new Client({ endpoint: server.endpoint, logger: quiet });
  client.startRun({ name: "a" }).end();
  const open = client.startRun({ name: "b" });
  const pending = { delivered: 0, pending: 3, lost: 0 };
  const runsPending = { delivered: 0, pending: 2, lost: 0 };
  expect(await client.flush({ timeoutMs: 20 })).toEqual({ ...pending, runs: runsPending });
  expect(await client.flush({ timeoutMs: 20 })).toEqual({ ...pending, runs: runsPending });
  open.end();
  const closed = await client.close({ timeoutMs: 20 });
  expect(closed).toEqual({
    delivered: 0,
    pending: 0,
    lost: 4,
    runs: { delivered: 0, pending: 0, lost: 2 },
  });
  expect(client.stats()).toMatchObject({ accepted: 4, dropped: 4, lost: { closed: 4 } });
  expect(await client.close()).toEqual(closed);
});

test("two concurrent flushes both report the records that they wait for; refused runs are lost", async () => {
  await using server = await loopbackServer({ runs: [{ status: 401 }] });
  const client = new Client({ endpoint: server.endpoint, logger: quiet });
  client.startRun({ name: "a" }).end();
  const lost = { delivered: 0, pending: 0, lost: 2, runs: { delivered: 0, pending: 0, lost: 1 } };
  expect(await Promise.all([client.flush(), client.flush()])).toEqual([lost, lost]);
  await client.close();
});

/** The most memory in shared and other buffers while 16 MB are recorded for a server that never responds. */
const measurePeakBytes = async (endpoint: string, maxQueueBytes: number): Promise<number> => {
  const { output } = await runProgram(`
    const client = new Client({
      endpoint: ${JSON.stringify(endpoint)}, maxQueueBytes: ${maxQueueBytes}, exitTimeoutMs: 0,
      logger: { warn() {} },
    });
    const text = "x".repeat(1_000);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let i = 0; i < 16_000; i++) {
      client.startRun({ name: "r", inputs: { text } });
      if (i % 100 === 0) {
        await new Promise(setImmediate);
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    }
    console.log(JSON.stringify({ most, full: client.stats().lost.queueFull > 0 }));
    process.exit();
  `);
  const { most, full } = JSON.parse(output) as { most: number; full: boolean };
  expect(full).toBe(true);
  return most;
};

test.each([65_536, 262_144, 1_048_576, 4_194_304])(
  "maxQueueBytes %i limits memory, including tapes in flight",
  async (maxQueueBytes) => {
    await using server = await loopbackServer({ runs: [() => undefined] });
    // In addition to the queue: the open tape, and small buffers of the threads.
    expect(await measurePeakBytes(server.endpoint, maxQueueBytes)).toBeLessThan(
      1.25 * maxQueueBytes + 16_384,
    );
  },
);
