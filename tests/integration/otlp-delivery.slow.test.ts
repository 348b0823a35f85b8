import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { Client } from "millrace";
import type { ClientOptions, ClientStats, RunTree } from "millrace";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { inspectSpool } from "../../src/main/spool-tools.ts";
import { refuse, runCollector } from "../support/otlp-collector.ts";
import { runProgram } from "../support/run-program.ts";
import { listSegments, unreachable, useSpoolClients } from "../support/spool-clients.ts";
import { testSpool } from "../support/spooling.ts";

useSpoolClients();

function createClient(url: string, options: ClientOptions = {}) {
  const messages: string[] = [];
  const client = new Client({
    otlp: { url },
    firstDelayMs: 0,
    logger: { warn: (message) => messages.push(message) },
    ...options,
  });
  onTestFinished(async () => {
    await client.close({ timeoutMs: 0 });
  });
  return { client, messages };
}

/** Number of records in all states. It is always the number of accepted records. */
const sumStates = ({ delivered, rejected, dropped, spooled, pending }: ClientStats): number =>
  delivered + rejected + dropped + spooled + pending;

describe("runs that have not ended", () => {
  test("are evicted beyond a quarter of maxQueueBytes, the oldest first, and counted and logged as openLimit", async () => {
    const collector = await runCollector();
    const { client, messages } = createClient(collector.url, { maxQueueBytes: 262_144 });
    const runs = Array.from({ length: 100 }, (_, index) =>
      client.startRun({ name: `run ${index}`, inputs: { text: "x".repeat(2_000) } }),
    );
    const { lost, pending } = client.stats();
    expect(lost.openLimit).toBeGreaterThan(60);
    expect(lost.openLimit + pending).toBe(100);
    for (const run of runs) {
      run.end();
    }
    await client.flush();
    const stats = client.stats();
    expect(stats).toMatchObject({
      accepted: 200,
      delivered: 2 * pending,
      pending: 0,
      // The end of a run whose start was evicted is no span either.
      lost: { openLimit: lost.openLimit, startMissing: lost.openLimit },
    });
    expect(sumStates(stats)).toBe(200);
    // Those that started last were kept.
    const names = new Set(collector.spans.map(({ name }) => name));
    expect(names).toEqual(new Set(runs.slice(-pending).map(({ name }) => name)));
    expect(messages.join("\n")).toMatch(/openLimit.*otlp keeps a run until it ends/s);
  });

  test("are evicted beyond half of maxQueueRecords", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector.url, { maxQueueRecords: 10 });
    for (let index = 0; index < 8; index++) {
      client.startRun({ name: `run ${index}` });
    }
    expect(client.stats()).toMatchObject({ accepted: 8, pending: 5, lost: { openLimit: 3 } });
  });

  test("are counted as unended when the client closes, which does not wait for them", async () => {
    const collector = await runCollector();
    const { client, messages } = createClient(collector.url);
    client.startRun({ name: "open" });
    client.startRun({ name: "ended" }).end();
    const startedAt = performance.now();
    const result = await client.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(result).toEqual({
      delivered: 2,
      pending: 0,
      lost: 1,
      runs: { delivered: 1, pending: 0, lost: 1 },
    });
    expect(client.stats()).toMatchObject({
      accepted: 3,
      delivered: 2,
      pending: 0,
      lost: { unended: 1 },
    });
    expect(messages.join("\n")).toMatch(/unended.*sends only ended runs/s);
    expect(collector.spans.map(({ name }) => name)).toEqual(["ended"]);
  });

  test("are not sent to the spool either, and a drain leaves them pending until the close", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector.url, { spoolDir: testSpool.folder });
    const run = client.startRun({ name: "open" });
    expect(await client.drain()).toMatchObject({ pending: 1, lost: 0 });
    run.end();
    expect(client.stats()).toMatchObject({ accepted: 2, pending: 1, lost: { closed: 1 } });
    await client.close();
    expect(client.stats()).toMatchObject({
      pending: 0,
      spooled: 0,
      lost: { closed: 1, unended: 1 },
    });
    expect(listSegments()).toEqual([]);
  });
});

test("an update of a run that was sent already is counted as startMissing", async () => {
  const collector = await runCollector();
  const { client, messages } = createClient(collector.url);
  const id = crypto.randomUUID();
  await client.createRun({
    id,
    name: "run",
    run_type: "chain",
    inputs: {},
    start_time: 1,
    end_time: 2,
  });
  await client.updateRun(id, { outputs: { late: true } });
  await client.updateRun(crypto.randomUUID(), { end_time: 3 });
  expect(await client.flush()).toMatchObject({ delivered: 1, lost: 2, pending: 0 });
  expect(client.stats().lost).toMatchObject({ startMissing: 2 });
  expect(messages.join("\n")).toMatch(/startMissing/);
});

test("a run without a place in a trace, or with a time that is none, costs only itself", async () => {
  const collector = await runCollector();
  const { client, messages } = createClient(collector.url);
  const [parent, invalid, good] = [1, 2, 3].map(() => crypto.randomUUID());
  const fields = {
    name: "run",
    run_type: "chain",
    inputs: {},
    start_time: 1,
    end_time: 2,
  } as const;
  await client.createRun({ ...fields, id: parent ?? "", parent_run_id: crypto.randomUUID() });
  await client.createRun({ ...fields, id: invalid ?? "", end_time: "tomorrow" });
  await client.createRun({ ...fields, id: good ?? "" });
  await client.flush();
  expect(client.stats()).toMatchObject({ delivered: 1, lost: { rejected: 1, quarantined: 1 } });
  expect(collector.spans).toHaveLength(1);
  expect(messages.join("\n")).toMatch(/it has a parent, but no dotted_order/);
});

test("a flush while the backend does not respond keeps its time, and counts each record once", async () => {
  const collector = await runCollector(() => "responded");
  const { client } = createClient(collector.url);
  client.startRun({ name: "open" });
  client.startRun({ name: "ended" }).end();
  const startedAt = performance.now();
  const result = await client.flush({ timeoutMs: 300 });
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(result).toMatchObject({ delivered: 0, pending: 3, lost: 0, runs: { pending: 2 } });
  expect(sumStates(client.stats())).toBe(3);
});

describe("the spool", () => {
  test("keeps whole runs while the backend is unavailable, and the next client sends them", async () => {
    const first = createClient(unreachable, { spoolDir: testSpool.folder });
    const runs = Array.from({ length: 20 }, (_, index) =>
      first.client.startRun({ name: `run ${index}` }),
    );
    await first.client.flush({ timeoutMs: 50 });
    for (const run of runs) {
      run.end({ ok: true });
    }
    await first.client.close({ timeoutMs: 50 });
    expect(first.client.stats()).toMatchObject({
      accepted: 40,
      spooled: 40,
      pending: 0,
      dropped: 0,
    });
    const collector = await runCollector();
    const next = createClient(collector.url, { spoolDir: testSpool.folder });
    await vi.waitFor(() => expect(collector.spans).toHaveLength(20), { timeout: 10_000 });
    await vi.waitFor(() => expect(listSegments()).toEqual([]), { timeout: 10_000 });
    expect(next.client.stats()).toMatchObject({ accepted: 40, delivered: 40 });
  });

  test("with spool-first has each run on disk when the call that ended it returns", async () => {
    const { client } = createClient(unreachable, {
      spoolDir: testSpool.folder,
      durability: "spool-first",
      firstDelayMs: 60_000,
    });
    const run = client.startRun({ name: "run" });
    expect(listSegments()).toEqual([]);
    run.end({ ok: true });
    expect(await inspectSpool(testSpool.folder)).toMatchObject([{ records: 2 }]);
  });

  test("with records of a client without otlp: whole runs are sent, the others become dead letters", async () => {
    const server = new Client({
      endpoint: unreachable,
      spoolDir: testSpool.folder,
      logger: { warn: () => undefined },
    });
    server.startRun({ name: "whole" }).end();
    server.startRun({ name: "open" });
    await server.close({ timeoutMs: 0 });
    const collector = await runCollector();
    const { client, messages } = createClient(collector.url, { spoolDir: testSpool.folder });
    await vi.waitFor(
      () =>
        expect(client.stats()).toMatchObject({ accepted: 3, delivered: 2, lost: { rejected: 1 } }),
      { timeout: 10_000 },
    );
    expect(collector.spans.map(({ name }) => name)).toEqual(["whole"]);
    await vi.waitFor(async () => {
      const files = await inspectSpool(testSpool.folder);
      expect(files.filter(({ state }) => state === "dead")).toMatchObject([{ records: 1 }]);
    });
    expect(messages.join("\n")).toContain("the record of its end is missing");
  });
});

describe("the end of the process", () => {
  const program = (url: string, end: string): string => `
    const client = new Client({ otlp: { url: ${JSON.stringify(url)} }, exitTimeoutMs: 20_000 });
    client.startRun({ name: "open" });
    for (let i = 0; i < 300; i++) client.startRun({ name: "ended", inputs: { text: "x".repeat(1_000) } }).end({ i });
    ${end}
  `;

  test.each([
    ["naturally", ""],
    ["by process.exit", "process.exit(0);"],
    [
      "by process.exit after a flush",
      "await client.flush(); client.startRun({ name: 'ended' }).end(); process.exit(0);",
    ],
  ])("%s delivers the ended runs, and logs the others as lost", async (how, end) => {
    const collector = await runCollector();
    const { code, output, durationMs } = await runProgram(program(collector.url, end));
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("unended") as string,
    });
    expect(output).toContain("Lost 1 record (unended)");
    expect(durationMs).toBeLessThan(20_000);
    expect(collector.spans.filter(({ name }) => name === "ended")).toHaveLength(
      how.endsWith("flush") ? 301 : 300,
    );
    expect(collector.spans.filter(({ name }) => name === "open")).toEqual([]);
  });

  test("without an otlp backend waits no longer than for a server", async () => {
    const { durationMs, output } = await runProgram(program(`${unreachable}/v1/traces`, ""));
    expect(durationMs).toBeLessThan(6_000);
    expect(output).toMatch(/Lost 600 records \(closed\)/);
    expect(output).toContain("otlp.url");
  });
});

test("whatever is recorded in whatever order, each record ends in exactly one state", async () => {
  const collector = await runCollector((response, { spans }) =>
    spans.some(({ name }) => name === "refused") ? refuse(response, 400) : undefined,
  );
  const step = fc.record({
    kind: fc.constantFrom("start", "end", "flush", "late", "nested"),
    choice: fc.nat(1_000),
    size: fc.constantFrom(0, 100, 5_000, 60_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const { client } = createClient(collector.url, { maxQueueBytes: 262_144, tapeBytes: 8_192 });
      const open: RunTree[] = [];
      const ended: string[] = [];
      for (const { kind, choice, size } of steps) {
        const inputs = { text: "x".repeat(size) };
        const name = choice % 20 === 0 ? "refused" : "run";
        if (kind === "start") {
          open.push(client.startRun({ name, inputs }));
        } else if (kind === "nested") {
          // A record that is written while another one is being written.
          const nested = { toJSON: () => client.startRun({ name, inputs }).end(inputs) };
          open.push(client.startRun({ name, inputs: { nested } }));
        } else if (kind === "end") {
          const [run] = open.splice(choice % Math.max(1, open.length), 1);
          run?.end(inputs);
          ended.push(run?.id ?? crypto.randomUUID());
        } else if (kind === "late") {
          await client.updateRun(ended[choice % ended.length] ?? crypto.randomUUID(), {
            outputs: inputs,
          });
        } else {
          await client.flush();
        }
        const stats = client.stats();
        expect(sumStates(stats)).toBe(stats.accepted);
      }
      await client.close();
      const stats = client.stats();
      expect(stats.pending).toBe(0);
      expect(sumStates(stats)).toBe(stats.accepted);
      expect(stats.delivered % 2).toBe(0);
    }),
    { numRuns: 12 },
  );
});

test("a folder of a spool can be sent to a backend by the tools of the spool", async () => {
  const first = createClient(unreachable, { spoolDir: testSpool.folder });
  first.client.startRun({ name: "run" }).end();
  await first.client.close({ timeoutMs: 0 });
  writeFileSync(join(testSpool.folder, "unrelated"), "");
  const { replaySpool } = await import("../../src/main/spool-tools.ts");
  const collector = await runCollector();
  const result = await replaySpool({
    spoolDir: testSpool.folder,
    limitMs: 10_000,
    otlp: { url: collector.url },
    logger: { warn: () => undefined },
  });
  expect(result).toMatchObject({ delivered: 2, rejected: 0, dropped: 0, left: 0 });
  expect(collector.spans).toHaveLength(1);
});
