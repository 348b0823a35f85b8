import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { ClientOptions } from "millrace";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { neverRespond, loopbackServer } from "../support/loopback-server.ts";
import { runCounter } from "../support/run-counter.ts";
import { runsIn } from "../support/runs-in-body.ts";
import { runProgram } from "../support/run-program.ts";

function client(options: ClientOptions): Client {
  const newClient = new Client({ logger: { warn: () => undefined }, ...options });
  onTestFinished(async () => void (await newClient.close({ timeoutMs: 0 })));
  return newClient;
}

test("a burst of 100,000 runs in one tick is sent in batches within the limit, each run once", async () => {
  const perRequest: number[] = [];
  await using server = await loopbackServer({
    runs: [
      (response, { body }) => {
        perRequest.push(runsIn(body).started.length);
        response.writeHead(202).end("{}");
      },
    ],
  });
  const recording = client({ endpoint: server.endpoint, maxQueueBytes: 134_217_728 });
  for (let i = 0; i < 100_000; i++) {
    recording.startRun({ name: "r" });
  }
  expect(await recording.flush()).toMatchObject({ delivered: 100_000, lost: 0, pending: 0 });
  expect(perRequest.reduce((sum, runs) => sum + runs, 0)).toBe(100_000);
  expect(Math.max(...perRequest)).toBe(100);
}, 120_000);

test("runs that never end arrive as open runs, and the client releases their memory", async () => {
  await using server = await runCounter();
  const source = `
    import { setFlagsFromString } from "node:v8";
    import { runInNewContext } from "node:vm";
    import { setTimeout as wait } from "node:timers/promises";
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    const client = new Client({ endpoint: ${JSON.stringify(server.url)} });
    const kept = [];
    const start = (count) => {
      for (let i = 0; i < count; i++) {
        const inputs = { text: "x".repeat(500) };
        kept.push(new WeakRef(client.startRun({ name: "open", inputs })), new WeakRef(inputs));
      }
    };
    start(2_000);
    const { delivered, pending, lost } = await client.flush();
    await wait(0);
    collect();
    const left = kept.filter((ref) => ref.deref() !== undefined).length;
    console.log(JSON.stringify({ delivered, pending, lost, left }));
    await client.close();
  `;
  const { code, output } = await runProgram(source);
  expect(JSON.parse(output)).toEqual({ delivered: 2_000, pending: 0, lost: 0, left: 0 });
  expect(code).toBe(0);
  expect(server.started.size).toBe(2_000);
});

test("without a free file handle nothing throws, and everything arrives when there are handles again", async () => {
  await using server = await runCounter();
  const folder = mkdtempSync(join(tmpdir(), "millrace-handles-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const source = `
    import { closeSync, openSync } from "node:fs";
    const client = new Client({
      endpoint: ${JSON.stringify(server.url)},
      spoolDir: ${JSON.stringify(folder)},
      durability: "spool-first",
      tapeBytes: 4_096,
      logger: { warn: () => undefined },
    });
    client.startRun({ name: "before" }).end();
    await client.flush();
    const handles = [];
    let why;
    while (why === undefined) {
      try {
        handles.push(openSync("/dev/null"));
      } catch (error) {
        why = error.code;
      }
    }
    for (let i = 0; i < 100; i++) {
      client.startRun({ name: "run " + i, inputs: { text: "x".repeat(200) } }).end({ i });
    }
    const { warnings } = client.stats();
    handles.forEach(closeSync);
    const flushed = await client.flush();
    console.log(JSON.stringify({ why, unwritable: warnings.spoolUnwritable > 0, flushed }));
    await client.close();
  `;
  const { code, output } = await runProgram(source);
  expect(JSON.parse(output)).toEqual({
    why: "EMFILE",
    unwritable: true,
    flushed: {
      delivered: 200,
      pending: 0,
      lost: 0,
      runs: { delivered: 100, pending: 0, lost: 0 },
    },
  });
  expect(code).toBe(0);
  expect(server.ended.size).toBe(100);
});

describe("a close", () => {
  test("during flushes and other closes lets all of them finish", async () => {
    await using server = await loopbackServer({ runs: [neverRespond] });
    const recording = client({ endpoint: server.endpoint });
    recording.startRun({ name: "run" }).end();
    const calls = [
      recording.flush({ timeoutMs: 60_000 }),
      recording.close({ timeoutMs: 200 }),
      recording.drain({ timeoutMs: 60_000 }),
      recording.close(),
      recording.flush({ timeoutMs: 60_000 }),
    ];
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(
      calls.map(() => "fulfilled"),
    );
    recording.startRun({ name: "after" }).end();
    expect(await recording.flush()).toMatchObject({ delivered: 0, lost: 2, pending: 0 });
    expect(recording.stats()).toMatchObject({ accepted: 4, dropped: 4, pending: 0 });
    expect(recording.stats().lost.closed).toBe(4);
  });
});

test("fake timers do not delay a flush", async () => {
  await using server = await runCounter();
  const recording = client({ endpoint: server.url });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const run = recording.startRun({ name: "run" });
  run.end({});
  expect(await recording.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  expect([...server.ended]).toEqual([run.id]);
});

test("arguments of a caller are not modified, and may be frozen", async () => {
  await using server = await runCounter();
  const recording = client({ endpoint: server.url });
  const id = "00000000-0000-4000-8000-000000000001";
  const position = { trace_id: id, dotted_order: `20260101T000000000000Z${id}` };
  const wire = {
    id,
    name: "run",
    run_type: "tool",
    inputs: { a: [1] },
    project_name: "p",
    ...position,
  };
  const before = structuredClone(wire);
  const frozen = Object.freeze({ ...wire, inputs: Object.freeze({ a: Object.freeze([1]) }) });
  await recording.createRun(frozen);
  await recording.createRun(wire);
  await recording.updateRun(id, Object.freeze({ outputs: Object.freeze({}), ...position }));
  expect(wire).toEqual(before);
  expect(await recording.flush()).toMatchObject({ delivered: 3, lost: 0, pending: 0 });
  expect(recording.stats().warnings).toEqual({});
});
