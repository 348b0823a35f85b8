import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Client, currentRun, traceable, withRun } from "millrace";
import type { ClientOptions } from "millrace";
import { runCollector } from "../support/otlp-collector.ts";
import { runCounter } from "../support/run-counter.ts";
import type { RunCounter } from "../support/run-counter.ts";

let server: RunCounter;
beforeAll(async () => {
  server = await runCounter();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function openClient(options: ClientOptions = {}): Client {
  const quiet = { warn: (): void => undefined };
  const client = new Client({ endpoint: server.url, logger: quiet, ...options });
  clients.push(client);
  return client;
}

/** Calls `action` in each of the last frames before the stack is exhausted. Returns the errors that it threw. */
function callWithLittleStack(frames: number, action: () => unknown): readonly Error[] {
  const thrown: Error[] = [];
  // A function is compiled at its first call, which needs more stack than is left at that point.
  for (let i = 0; i < 3; i++) {
    action();
  }
  let framesLeft = frames;
  const descend = (...padding: readonly number[]): void => {
    try {
      descend(...padding);
    } catch {
      // The stack is exhausted here.
    }
    if (framesLeft > 0) {
      framesLeft -= 1;
      try {
        action();
      } catch (error) {
        thrown.push(error as Error);
      }
    }
  };
  for (let padding = 0; padding < 4; padding++) {
    framesLeft = frames;
    descend(...Array.from({ length: padding }, () => 0));
  }
  return thrown;
}

/** Whether one of our functions let an error escape that a deeper call of our code caused: the stack then contains several of our frames. */
const isLeak = ({ stack = "" }: Error): boolean =>
  stack.split("\n").filter((line) => ourFrames.test(line)).length > 1;
const ourFrames = /\/(?:src|dist)\/(?:main|tracing|model)\//;

const bystander = traceable((value: number) => value + 1, { name: "bystander" });

const actions: Readonly<Record<string, (client: Client) => () => unknown>> = {
  "startRun and end": (client) => () =>
    client.startRun({ inputs: { a: [1, { b: "c" }] } }).end({ d: 1 }),
  "startRun and fail": (client) => () => client.startRun().fail(new Error("own")),
  "startChild and end": (client) => {
    const root = client.startRun({ name: "root" });
    return () => root.startChild({ name: "child" }).end({});
  },
  "what is added": (client) => {
    const run = client.startRun({ name: "added to" });
    return () => {
      run.addTags("tag");
      run.addMetadata({ key: { deep: [1] } });
      run.addEvent({ name: "event" });
      run.addAttachment("file", ["text/plain", new Uint8Array(8)]);
    };
  },
  exchanges: (client) => () => {
    const exchange = client.recordExchange({ format: "openai.chat", request: "{}" });
    exchange.respond({ status: 200, contentType: "application/json" });
    exchange.addChunk(new Uint8Array(8));
    exchange.end();
    exchange.beginAttempt();
    exchange.end({ error: new Error("own") });
  },
  "wire-shaped runs": (client) => () => {
    void client.createRun({ id: crypto.randomUUID(), name: "wire", run_type: "chain", inputs: {} });
    void client.updateRun(crypto.randomUUID(), { outputs: {} });
  },
};

// Must be the first test of the file: the code that sends tapes is compiled at its first call, in this test.
test("the first tape of a process, cut when the stack is exhausted, is sent completely", async () => {
  const client = openClient({ tapeBytes: 16_384, requestsInFlight: 8 });
  const text = "x".repeat(1_000);
  const thrown = callWithLittleStack(400, () =>
    client.startRun({ inputs: { text } }).end({ text }),
  );
  expect(thrown.filter(isLeak).map(({ stack }) => stack)).toEqual([]);
  expect(await client.flush({ timeoutMs: 30_000 })).toMatchObject({ pending: 0 });
  const { accepted, delivered, dropped, lost } = client.stats();
  expect({ accepted, dropped }).toEqual({
    accepted: delivered + dropped,
    dropped: lost.unencodable + lost.queueFull,
  });
  expect(delivered).toBeGreaterThan(500);
}, 60_000);

test.each(Object.entries(actions))(
  "with an almost exhausted stack, %s throws no RangeError of our own, and later records arrive",
  async (_name, make) => {
    const client = openClient();
    const action = make(client);
    const thrown: Error[] = [];
    for (let round = 0; round < 5; round++) {
      thrown.push(...callWithLittleStack(400, action));
    }
    expect(thrown.filter(isLeak).map(({ stack }) => stack)).toEqual([]);
    const after = client.startRun({ name: "after", inputs: { whole: true } });
    after.end({ whole: true });
    expect(await client.flush({ timeoutMs: 30_000 })).toMatchObject({ pending: 0 });
    expect(server.ended).toContain(after.id);
    const { accepted, delivered, dropped, rejected, pending, lost } = client.stats();
    expect({ pending, rejected, accepted }).toEqual({
      pending: 0,
      rejected: 0,
      accepted: delivered + dropped,
    });
    expect(dropped).toBe(lost.unencodable);
  },
  60_000,
);

test.each(Object.entries(actions))(
  "with otlp and an almost exhausted stack, %s leaves each record in one state, and sends a run once",
  async (_name, make) => {
    const collector = await runCollector();
    const quiet = { warn: (): void => undefined };
    const client = new Client({ otlp: { url: collector.url }, logger: quiet });
    const action = make(client);
    const thrown: Error[] = [];
    for (let round = 0; round < 5; round++) {
      thrown.push(...callWithLittleStack(400, action));
    }
    expect(thrown.filter(isLeak).map(({ stack }) => stack)).toEqual([]);
    client.startRun({ name: "after" }).end();
    await client.flush({ timeoutMs: 30_000 });
    await client.close();
    const { accepted, delivered, dropped, rejected, pending } = client.stats();
    expect({ pending, rejected, accepted }).toEqual({
      pending: 0,
      rejected: 0,
      accepted: delivered + dropped,
    });
    const ids = collector.spans.map(({ spanId }) => spanId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(collector.spans.map(({ name }) => name)).toContain("after");
    expect(delivered).toBe(2 * ids.length);
  },
  60_000,
);

test("a traced function is called and returns wherever the stack suffices", async () => {
  const client = openClient();
  let calls = 0;
  const traced = traceable((): number => (calls += 1), { client });
  const answers: unknown[] = [];
  const thrown = callWithLittleStack(600, () => answers.push(traced()));
  // The error is the program's own if the function itself could not be called or did not finish.
  const leaks = thrown.filter((error) => {
    const [, innermost = ""] = (error.stack ?? "").split("\n");
    return isLeak(error) && ourFrames.test(innermost) && !/^\s+at call /.test(innermost);
  });
  expect(leaks.map(({ stack }) => stack)).toEqual([]);
  expect(answers.length).toBeGreaterThan(1_000);
  expect(calls).toBe(answers.length);
  expect(bystander(1)).toBe(2);
  expect(await client.flush({ timeoutMs: 30_000 })).toMatchObject({ pending: 0 });
}, 60_000);

test("withRun still calls its function, and restores the context", async () => {
  const client = openClient();
  const run = client.startRun({ name: "entered" });
  let calls = 0;
  const thrown = callWithLittleStack(400, () => withRun(run, () => (calls += 1)));
  expect(thrown.filter(isLeak).map(({ stack }) => stack)).toEqual([]);
  expect(calls).toBeGreaterThan(0);
  expect(currentRun()).toBeUndefined();
  expect(withRun(run, () => currentRun()?.id)).toBe(run.id);
  await Promise.resolve();
  expect(currentRun()).toBeUndefined();
});

test("tapes that are cut when the stack is exhausted are sent once and completely", async () => {
  const client = openClient({ tapeBytes: 16_384, maxQueueBytes: 1_048_576 });
  const text = "x".repeat(1_000);
  for (let round = 0; round < 10; round++) {
    callWithLittleStack(400, () => client.startRun({ inputs: { text } }).end({ text }));
    // Frees capacity for the next round.
    await client.flush({ timeoutMs: 30_000 });
  }
  const { accepted, delivered, dropped, pending, lost } = client.stats();
  expect({ pending, accepted }).toEqual({ pending: 0, accepted: delivered + dropped });
  expect(dropped).toBe(lost.unencodable + lost.queueFull);
  expect(lost.unencodable).toBeGreaterThan(0);
  expect(delivered).toBeGreaterThan(5_000);
}, 120_000);

const policies: readonly (readonly [string, ClientOptions])[] = [
  ["drop-oldest", { overflow: "drop-oldest" }],
  ["drop-newest, by count", { maxQueueRecords: 100 }],
  ["drop-oldest, by count", { overflow: "drop-oldest", maxQueueRecords: 100 }],
  ["spool", { overflow: "spool", spoolDir: "" }],
  ["spool-first", { durability: "spool-first", spoolDir: "" }],
];

test.each(policies)(
  "with a full queue and an exhausted stack, %s counts each record once",
  async (_name, { spoolDir, ...options }) => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-stack-"));
    const client = openClient({
      tapeBytes: 8_192,
      maxQueueBytes: 65_536,
      ...(spoolDir === undefined ? {} : { spoolDir: folder }),
      ...options,
    });
    const text = "x".repeat(500);
    for (let round = 0; round < 3; round++) {
      callWithLittleStack(400, () => client.startRun({ inputs: { text } }).end({ text }));
      await wait(20);
    }
    await client.close({ timeoutMs: 30_000 });
    rmSync(folder, { recursive: true });
    const { accepted, delivered, dropped, rejected, spooled, pending, lost } = client.stats();
    expect({ pending, rejected, accepted }).toEqual({
      pending: 0,
      rejected: 0,
      accepted: delivered + dropped + spooled,
    });
    expect(dropped).toBe(lost.unencodable + lost.queueFull);
    expect(lost.unencodable).toBeGreaterThan(0);
    expect(delivered + spooled).toBeGreaterThanOrEqual(50);
  },
  60_000,
);

test("if a process records for the first time when its stack is exhausted, contexts work later, and it ends", async () => {
  const program = join(import.meta.dirname, "../support/stack-program.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [program, server.url], {
    timeout: 30_000,
  });
  expect(JSON.parse(stdout)).toEqual({ inside: "entered", outside: null, timerFired: true });
}, 60_000);

test("an infinite recursion that records at each level throws the program's own error, and its records arrive", async () => {
  const client = openClient({ maxQueueRecords: 200_000 });
  const endless = traceable((level: number): number => endless(level + 1) + 1, { client });
  expect(() => endless(0)).toThrow(RangeError);
  expect(await client.flush({ timeoutMs: 60_000 })).toMatchObject({ pending: 0 });
  const { accepted, delivered, lost } = client.stats();
  expect(accepted).toBe(delivered + lost.unencodable);
  expect(delivered).toBeGreaterThan(100);
}, 90_000);
