import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { Client } from "millrace";
import type { ClientOptions, KeyValues, RunTree, WireRun } from "millrace";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";

/** Everything here is real: the client, worker threads, sockets, the server's threads, SQLite. */
let folder = "";
const server = useServer();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-chain-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Clients that the current test created. */
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function openClient(options: ClientOptions): Client {
  const client = new Client(options);
  clients.push(client);
  return client;
}

/** The run that must be read back. */
interface Expected {
  readonly parent_run_id: string | null;
  readonly name: string;
  readonly run_type: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly error: string | null;
  readonly tags: readonly string[];
  readonly metadata: unknown;
  readonly events: readonly unknown[];
  readonly ended: boolean;
}

async function read(id: string): Promise<WireRun> {
  const response = await fetch(`${server.url}/runs/${id}`);
  expect(response.status).toBe(200);
  return (await response.json()) as WireRun;
}

/** Reads many runs, as many at a time as the server returns. */
async function readMany(ids: readonly string[]): Promise<readonly WireRun[]> {
  const runs: WireRun[] = [];
  for (let from = 0; from < ids.length; from += 100) {
    const response = await fetch(`${server.url}/runs/query`, {
      method: "POST",
      body: JSON.stringify({ id: ids.slice(from, from + 100), limit: 100 }),
    });
    expect(response.status).toBe(200);
    runs.push(...((await response.json()) as { readonly runs: readonly WireRun[] }).runs);
  }
  return runs;
}

/** Converts a run that was read back to the form of {@link Expected}. */
const comparable = (run: WireRun): unknown => ({
  parent_run_id: run.parent_run_id ?? null,
  name: run.name,
  run_type: run.run_type,
  inputs: run.inputs,
  outputs: run.outputs ?? null,
  error: run.error?.split("\n")[0] ?? null,
  tags: run.tags ?? [],
  metadata: run.extra?.metadata ?? {},
  events: (run.events ?? []).map((event) => (event as { name: string }).name),
  ended: (run.end_time ?? null) !== null,
});

const json = fc.dictionary(fc.string({ unit: "binary", maxLength: 12 }), fc.jsonValue(), {
  maxKeys: 6,
});

const plan = fc.record({
  name: fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }),
  runType: fc.constantFrom("chain", "llm", "tool", "retriever", "parser" as const),
  inputs: json,
  outputs: json,
  metadata: json,
  tags: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 10 }), { maxLength: 3 }),
  events: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 3 }),
  ending: fc.constantFrom("end", "fail", "open", "late" as const),
  below: fc.nat(),
});

/** The value after a round trip through JSON, which is what must be recorded. */
const asJson = (value: KeyValues): unknown => JSON.parse(JSON.stringify(value));

test("3,000 runs of every shape are read back as they were recorded", async () => {
  const client = new Client({ endpoint: server.url, projectName: "chain" });
  const expected = new Map<string, Expected>();
  const late: { readonly run: RunTree; readonly outputs: KeyValues }[] = [];
  const runs: RunTree[] = [];
  const plans = fc.sample(plan, { numRuns: 3_000, seed: 7 });
  for (const { name, runType, inputs, outputs, metadata, tags, events, ending, below } of plans) {
    const parent = below % 4 === 0 ? undefined : runs[below % Math.max(1, runs.length)];
    const options = { name, runType, inputs, metadata, tags } as const;
    const run = parent?.startChild(options) ?? client.startRun({ ...options, parent: null });
    runs.push(run);
    for (const event of events) {
      run.addEvent({ name: event });
    }
    if (ending === "end") {
      run.end(outputs);
    } else if (ending === "fail") {
      run.fail(new RangeError("failed on purpose"), outputs);
    } else if (ending === "late") {
      late.push({ run, outputs });
    }
    expected.set(run.id, {
      parent_run_id: run.parentRunId ?? null,
      name,
      run_type: runType,
      inputs: asJson(inputs),
      outputs: ending === "open" ? null : asJson(outputs),
      error: ending === "fail" ? "RangeError: failed on purpose" : null,
      tags,
      metadata: asJson(metadata),
      events: ending === "open" ? [] : events,
      ended: ending !== "open",
    });
  }
  // Sends some ends in another request than their start.
  await client.flush();
  for (const { run, outputs } of late) {
    run.end(outputs);
  }
  const { pending, lost } = await client.flush();
  expect({ pending, lost }).toEqual({ pending: 0, lost: 0 });
  const stats = client.stats();
  const ends = [...expected.values()].filter(({ ended }) => ended).length;
  expect(stats).toMatchObject({ accepted: 3_000 + ends, delivered: 3_000 + ends, pending: 0 });
  const found = new Map((await readMany([...expected.keys()])).map((run) => [run.id, run]));
  for (const [id, run] of expected) {
    expect(comparable(found.get(id) as WireRun)).toEqual(run);
  }
  // A list and a single run are read by different routes.
  for (const [id, run] of [...expected].filter((_, index) => index % 10 === 0)) {
    expect(comparable(await read(id))).toEqual(run);
  }
  expect(found.size).toBe(3_000);
  await client.close();
}, 120_000);

describe("promises on the whole chain", () => {
  test("P8: a change after the call is not recorded", async () => {
    const client = openClient({ endpoint: server.url });
    const inputs = { list: [1], nested: { a: "before" } };
    const run = client.startRun({ inputs });
    inputs.list.push(2);
    inputs.nested.a = "after";
    const outputs = { b: "before" };
    run.end(outputs);
    outputs.b = "after";
    await client.flush();
    expect(await read(run.id)).toMatchObject({
      inputs: { list: [1], nested: { a: "before" } },
      outputs: { b: "before" },
    });
  });

  test("P7: one run that the server refuses does not affect the others", async () => {
    const messages: string[] = [];
    const client = openClient({
      endpoint: server.url,
      logger: { warn: (message) => messages.push(message) },
    });
    const good = Array.from({ length: 50 }, (_, i) => client.startRun({ name: `good ${i}` }));
    // The client accepts any time, but the server rejects this one.
    const badId = "00000000-0000-4000-8000-00000000000b";
    await client.createRun({
      id: badId,
      name: "bad",
      run_type: "chain",
      start_time: "the day before yesterday",
      dotted_order: `20260101T000000000000Z${badId}`,
    });
    await client.flush();
    expect(client.stats()).toMatchObject({ delivered: 50, rejected: 1, pending: 0 });
    for (const run of good) {
      expect(await read(run.id)).toMatchObject({ name: run.name });
    }
    expect(messages.join("\n")).toContain("start_time");
  });

  test("P1: hostile calls record what they can and throw nothing", async () => {
    const client = openClient({ endpoint: server.url, logger: { warn: () => undefined } });
    const hostile = {
      get name(): string {
        throw new Error("no name");
      },
    };
    const calls: (() => unknown)[] = [
      () => client.startRun(hostile),
      () => client.startRun(null as never).end(),
      () => client.startRun({ name: 7 as never, inputs: "text" as never, tags: {} as never }),
      () => client.createRun(null as never),
      () => client.updateRun(undefined as never, undefined as never),
      () => client.startRun().end(Symbol("s")),
      () => client.startRun().fail(Object.create(null)),
    ];
    for (const call of calls) {
      expect(call).not.toThrow();
    }
    const { pending } = await client.flush();
    expect(pending).toBe(0);
    const { accepted, delivered, rejected, dropped } = client.stats();
    expect(delivered + rejected + dropped).toBe(accepted);
    expect(delivered).toBeGreaterThanOrEqual(6);
  });

  test("hidden payloads never leave the process", async () => {
    const client = openClient({
      endpoint: server.url,
      hideInputs: true,
      hideOutputs: () => {
        throw new Error("redactor");
      },
      logger: { warn: () => undefined },
    });
    const run = client.startRun({ inputs: { secret: "s3cret" } });
    run.end({ secret: "s3cret" });
    await client.flush();
    const text = JSON.stringify(await read(run.id));
    expect(text).not.toContain("s3cret");
    expect(text).toContain("hiding failed; outputs dropped");
  });

  test("sampling keeps a trace whole or not at all", async () => {
    const client = openClient({
      endpoint: server.url,
      samplingRate: 0.5,
      projectName: "sampled",
    });
    const traces = Array.from({ length: 200 }, () => {
      const root = client.startRun({ parent: null });
      const child = root.startChild();
      child.end();
      root.end();
      return [root, child] as const;
    });
    await client.flush();
    let keptCount = 0;
    for (const [root, child] of traces) {
      const statuses = await Promise.all(
        [root, child].map(async ({ id }) => (await fetch(`${server.url}/runs/${id}`)).status),
      );
      expect(new Set(statuses).size).toBe(1);
      keptCount += statuses[0] === 200 ? 1 : 0;
    }
    expect(keptCount).toBeGreaterThan(60);
    expect(keptCount).toBeLessThan(140);
    expect(client.stats()).toMatchObject({ accepted: 4 * keptCount, sampledOut: 200 - keptCount });
  });

  test("no variable of the environment is in a run", async () => {
    vi.stubEnv("MILLRACE_TEST_SECRET", "canary-in-the-environment");
    const client = openClient({ endpoint: server.url });
    const run = client.startRun({ name: "environment" });
    run.end();
    await client.flush();
    expect(JSON.stringify(await read(run.id))).not.toContain("canary-in-the-environment");
  });
});
