import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WorkerError } from "../../src/model/errors.ts";
import { BlockingWorker } from "../../src/api/sync/blocking-worker.ts";
import type { Outcome } from "../../src/api/sync/protocol.ts";

const serve = new URL("../../dist/api/sync/serve-calls.js", import.meta.url).href;

const warnings: string[] = [];
const warn = (message: string): void => void warnings.push(message);

/** Starts a worker that makes each call with `make(call, signal)`. */
async function workerOf(make: string, head = ""): Promise<BlockingWorker> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-sync-"));
  const path = join(folder, "worker.mjs");
  await writeFile(
    path,
    `import { workerData } from "node:worker_threads";
    import { ReplyChannel, serveCalls } from ${JSON.stringify(serve)};
    ${head}
    const reporting = new ReplyChannel(workerData);
    serveCalls(reporting, async ({ args: [arg] }, { signal }) => { ${make} });`,
  );
  const worker = new BlockingWorker({ path, data: {}, env: {}, warn, longestSilenceMs: 1_900 });
  onTestFinished(async () => {
    await worker.close();
    await rm(folder, { recursive: true });
  });
  return worker;
}

const call = (worker: BlockingWorker, arg: unknown = 0, timeoutMs = 10_000): Outcome =>
  worker.call({ resource: "things", method: "do", args: [arg], changedValues: [], timeoutMs });

test("a worker that ends during a call causes an error that says so, and is closed", async () => {
  const worker = await workerOf("if (arg === 'end') process.exit(7); return arg;");
  expect(call(worker, "stay")).toMatchObject({ kind: "succeeded", value: "stay" });
  const began = performance.now();
  expect(() => call(worker, "end")).toThrow(WorkerError);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(worker.hasEnded).toBe(true);
  expect(() => call(worker, "again")).toThrow(
    "Failed to make the call client.sync.things.do: the worker thread ended (it ended with 7); the server may have executed the request",
  );
});

test("a worker that fails outside of a call is closed, and the program continues", async () => {
  const worker = await workerOf(
    "setImmediate(() => { throw new Error('beside'); }); await new Promise(() => {});",
  );
  expect(() => call(worker)).toThrow("the worker thread ended (it failed: beside)");
});

test("a worker that hangs counts as crashed eventually", async () => {
  const worker = await workerOf("for (;;);");
  expect(() => call(worker, 0, 60_000)).toThrow("it did not respond for 1900 ms");
  expect(worker.hasEnded).toBe(true);
});

test("a worker that is slow but alive is waited for", async () => {
  const worker = await workerOf(
    "await new Promise((resolve) => setTimeout(resolve, 2_500)); return 'late';",
  );
  expect(call(worker)).toMatchObject({ kind: "succeeded", value: "late" });
});

test("an abandoned call is cancelled, and its result is discarded", async () => {
  const worker = await workerOf(
    `if (arg === 'aborts') return globalThis.aborts ?? 0;
    signal.addEventListener('abort', () => { globalThis.aborts = (globalThis.aborts ?? 0) + 1; });
    await new Promise((resolve) => setTimeout(resolve, arg));
    return arg;`,
  );
  expect(call(worker, 1)).toMatchObject({ value: 1 });
  expect(() => call(worker, 60, 20)).toThrow("no response within 20 ms");
  expect(call(worker, 200)).toMatchObject({ value: 200 });
  expect(call(worker, "aborts")).toMatchObject({ value: 1 });
});

test("console output does not block a worker", async () => {
  const worker = await workerOf(
    "for (let line = 0; line < 1_000; line++) console.debug(''.padEnd(0)); return 'written';",
    "console.debug = (text) => process.stdout.write(text);",
  );
  expect(call(worker)).toMatchObject({ value: "written" });
});

test("warnings of a worker arrive before the result", async () => {
  const worker = await workerOf("reporting.send({ kind: 'warned', message: arg }); return arg;");
  expect(call(worker, "careful")).toMatchObject({ value: "careful" });
  expect(warnings).toEqual(["careful"]);
});

test("a result that can't be transferred is an error of that call only", async () => {
  const worker = await workerOf("return arg === 'bad' ? { work: () => 1 } : arg;");
  expect(call(worker, "bad")).toMatchObject({ kind: "failed" });
  expect(call(worker, "good")).toMatchObject({ kind: "succeeded", value: "good" });
});

test("an argument that only the clone refuses is a ValidationError", async () => {
  const worker = await workerOf("return arg;");
  expect(() => call(worker, new Map([["work", () => 1]]))).toThrow(
    "A blocking call can't take an argument that can't be sent to another thread",
  );
  expect(call(worker, "next")).toMatchObject({ value: "next" });
});

test("a missing worker file is noticed when the event loop turns", async () => {
  const worker = new BlockingWorker({ path: "/nowhere/worker.mjs", data: {}, env: {}, warn });
  expect(() => call(worker, 0, 50)).toThrow("no response within 50 ms");
  await expect.poll(() => worker.hasEnded).toBe(true);
  expect(() => call(worker)).toThrow("the worker thread ended (it failed: Cannot find module");
});
