import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Client, ClientOptions } from "../../src/main/index.ts";
import { inspectSpool } from "../../src/main/spool-tools.ts";
import { copyWithCrashingWorker } from "../support/package-copy.ts";
import type { PackageCopy } from "../support/package-copy.ts";
import { runCollector } from "../support/otlp-collector.ts";
import { runCounter } from "../support/run-counter.ts";

let copy: PackageCopy;
let spoolDir: string;

beforeEach(async () => {
  copy = await copyWithCrashingWorker();
  spoolDir = mkdtempSync(join(tmpdir(), "millrace-poison-"));
});

afterEach(async () => {
  await copy[Symbol.asyncDispose]();
  rmSync(spoolDir, { recursive: true });
});

interface Recorded {
  readonly client: Client;
  readonly good: readonly string[];
  readonly lines: readonly string[];
}

/** Records 20 good runs and, in between, one run with each of these names. */
async function record(names: readonly string[], options: ClientOptions): Promise<Recorded> {
  const { Client: Copied } = (await import(copy.addressOf("main/index"))) as {
    readonly Client: typeof Client;
  };
  const lines: string[] = [];
  const client = new Copied({ ...options, logger: { warn: (line) => lines.push(line) } });
  // After its first flush a client sends from workers only.
  await client.flush();
  const good: string[] = [];
  for (let i = 0; i < 20; i++) {
    const run = client.startRun({ name: `good ${i}` });
    run.end({});
    good.push(run.id);
    for (const name of i === 7 ? names : []) {
      client.startRun({ name, inputs: { text: "poison" } }).end({});
    }
  }
  return { client, good, lines };
}

test.each(["loop", "exit", "throw"])(
  "only a run that crashes its worker is lost; it is quarantined and kept: %s",
  { timeout: 30_000 },
  async (name) => {
    await using server = await runCounter();
    const options = { endpoint: server.url, workerStallMs: 2_000, spoolDir };
    const { client, good, lines } = await record([name], options);
    expect(await client.flush()).toMatchObject({ delivered: 40, lost: 2, pending: 0 });
    expect([...server.ended].toSorted()).toEqual(good.toSorted());
    expect(client.stats()).toMatchObject({ accepted: 42, delivered: 40, lost: { quarantined: 2 } });
    await client.close();
    expect(lines.filter((line) => line.includes("quarantined"))).toHaveLength(1);
    const letters = (await inspectSpool(spoolDir)).filter(({ state }) => state === "dead");
    expect(letters).toMatchObject([{ records: 2 }]);
  },
);

test(
  "two runs that crash workers, on several tapes, affect no other run",
  { timeout: 30_000 },
  async () => {
    await using server = await runCounter();
    const options = { endpoint: server.url, workerStallMs: 2_000, tapeBytes: 4_096 };
    const { client, good } = await record(["exit", "loop", "exit"], options);
    await client.flush();
    expect([...server.ended].toSorted()).toEqual(good.toSorted());
    expect(client.stats()).toMatchObject({ lost: { quarantined: 6, workerLost: 0 }, pending: 0 });
    await client.close();
  },
);

test.each(["loop", "exit"])(
  "only an exchange that crashes the worker that reads it is lost: %s",
  { timeout: 30_000 },
  async (name) => {
    await using server = await runCounter();
    const options = { endpoint: server.url, workerStallMs: 2_000, spoolDir };
    const { client, good } = await record([], options);
    const calls = ["good", name, "good"].map((callName) => {
      const exchange = client.recordExchange({
        format: "openai.chat",
        name: callName,
        request: "{}",
      });
      exchange.end();
      return exchange.run.id;
    });
    expect(await client.flush()).toMatchObject({ delivered: 45, lost: 1, pending: 0 });
    expect([...server.ended].toSorted()).toEqual([...good, ...calls].toSorted());
    expect([...server.started].toSorted()).toEqual(
      [...good, ...calls.filter((_, index) => index !== 1)].toSorted(),
    );
    expect(client.stats()).toMatchObject({ accepted: 46, lost: { quarantined: 1 } });
    await client.close();
    const letters = (await inspectSpool(spoolDir)).filter(({ state }) => state === "dead");
    expect(letters).toMatchObject([{ records: 1 }]);
  },
);

test.each(["loop", "exit", "throw"])(
  "with otlp too only the run that crashes its worker is lost, and runs that were open meanwhile are sent: %s",
  { timeout: 30_000 },
  async (name) => {
    const collector = await runCollector();
    const { Client: Copied } = (await import(copy.addressOf("main/index"))) as {
      readonly Client: typeof Client;
    };
    const otlp = { url: collector.url };
    const client = new Copied({ otlp, workerStallMs: 2_000, logger: { warn: () => undefined } });
    await client.flush();
    const open = Array.from({ length: 10 }, (_, index) =>
      client.startRun({ name: `open ${index}`, inputs: { index } }),
    );
    client.startRun({ name, inputs: { text: "poison" } }).end({});
    client.startRun({ name: "beside" }).end({});
    await client.flush();
    for (const run of open) {
      run.end({});
    }
    await client.flush();
    expect(client.stats()).toMatchObject({
      accepted: 24,
      delivered: 22,
      pending: 0,
      lost: { quarantined: 2, workerLost: 0 },
    });
    const names = collector.spans.map((span) => span.name).toSorted();
    expect(names).toEqual(["beside", ...open.map((run) => run.name)]);
    await client.close();
  },
);
