import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { SharedTraffic } from "../../src/model/records/shared-traffic.ts";

const failure = { at: 1, cause: "refused", isFinal: false };

test("one thread reads what the other has counted", () => {
  const worker = new SharedTraffic();
  const main = new SharedTraffic(worker.memory);
  worker.countRequest(3_000_000_000);
  worker.countRequest(2_000_000_000);
  worker.countRetry();
  worker.countResponse();
  worker.countConnection();
  worker.recordVersionlessServer();
  worker.recordFailure({ ...failure, code: "HTTP", status: 503 });
  expect(main).toMatchObject({
    requests: 2,
    retries: 1,
    bytesSent: 5_000_000_000,
    responses: 1,
    connections: 1,
    failures: 1,
    isServerVersionless: true,
    lastFailure: { ...failure, code: "HTTP", status: 503 },
  });
});

test("the last failure is the newest of any number", () => {
  const traffic = new SharedTraffic();
  expect(traffic.lastFailure).toBeUndefined();
  for (let i = 1; i <= 25; i++) {
    traffic.recordFailure({ ...failure, cause: `failure ${i}` });
    expect(traffic.lastFailure?.cause).toBe(`failure ${i}`);
  }
});

test("a cause is one short line, without a terminal's commands", () => {
  const traffic = new SharedTraffic();
  traffic.recordFailure({
    ...failure,
    cause: `500 \u001b[31mred\r\n[millrace] forged ${"é".repeat(5_000)}`,
  });
  const { cause = "" } = traffic.lastFailure ?? {};
  expect(cause.startsWith("500  [31mred [millrace] forged é")).toBe(true);
  expect(cause).toHaveLength(400);
});

test("a failure that a thread did not finish writing hides no earlier one", () => {
  const traffic = new SharedTraffic();
  traffic.recordFailure({ ...failure, cause: "whole" });
  // The state left by a thread that crashes between counting the failure and writing it.
  Atomics.add(new Int32Array(traffic.memory), 3, 1);
  expect(traffic.failures).toBe(2);
  expect(traffic.lastFailure?.cause).toBe("whole");
});

test("a thread that waits for a tape is notified when it is finished", async () => {
  const traffic = new SharedTraffic();
  const source = `
    const { workerData } = require("node:worker_threads");
    const counters = new Int32Array(workerData);
    Atomics.add(counters, 0, 1);
    Atomics.notify(counters, 0);
  `;
  const worker = new Worker(source, { eval: true, workerData: traffic.memory });
  traffic.waitForTape(0, 20_000);
  expect(traffic.finishedTapes).toBe(1);
  await worker.terminate();
});
