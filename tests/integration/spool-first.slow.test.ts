import { rmSync } from "node:fs";
import type { Client, ClientOptions } from "millrace";
import { expect, test, vi } from "vitest";
import { runCounter } from "../support/run-counter.ts";
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

const program = "killed-program.mjs";

const createClient = (endpoint: string, options: ClientOptions = {}): Client =>
  createSpoolClient(endpoint, { durability: "spool-first", ...options });

test.each([
  ["in the tick of the last record", unreachable],
  ["a while after, the server being away", unreachable],
])("a record whose call returned survives kill -9: %s", async (when, endpoint) => {
  const ids = await runUntilKilled(program, { when, endpoint });
  expect(ids).toHaveLength(200);
  await using server = await runCounter();
  const next = createClient(server.url);
  await vi.waitFor(() => expect(server.ended.size).toBe(200), { timeout: 12_000 });
  expect(server.ended).toEqual(new Set(ids));
  expect(server.started).toEqual(new Set(ids));
  expect(next.stats()).toMatchObject({ accepted: 400, dropped: 0 });
});

test("a kill while the server does not respond loses nothing", async () => {
  await using hung = await runCounter(hanging);
  const ids = await runUntilKilled(program, {
    when: "a while after, the server being away",
    endpoint: hung.url,
  });
  await using server = await runCounter();
  createClient(server.url);
  await vi.waitFor(() => expect(server.ended).toEqual(new Set(ids)), { timeout: 12_000 });
});

test("delivered records leave nothing on disk, and are not sent again", async () => {
  await using server = await runCounter();
  const created = createClient(server.url);
  for (let i = 0; i < 50; i++) {
    created.startRun({ name: `run ${i}` }).end();
  }
  expect(listSegments()).not.toEqual([]);
  await expect(created.flush()).resolves.toMatchObject({ delivered: 100, lost: 0, pending: 0 });
  expect(listSegments()).toEqual([]);
  expect(created.stats()).toMatchObject({ accepted: 100, delivered: 100, spooled: 0 });
});

test("records that can't be delivered stay on disk, are counted once, and the same client sends them later", async () => {
  const server = await startStatusServer(503);
  const created = createClient(server.url, {
    attempts: 1,
    overflow: "spool",
    maxQueueBytes: 65_536,
    tapeBytes: 4_096,
  });
  for (let i = 0; i < 500; i++) {
    created.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(500) } }).end();
  }
  const { spooled, pending } = created.stats();
  expect(spooled).toBeGreaterThan(0);
  expect(spooled + pending).toBe(1_000);
  server.status = 202;
  await vi.waitFor(() => expect(created.stats()).toMatchObject({ delivered: 1_000, spooled: 0 }), {
    timeout: 12_000,
  });
  expect(created.stats()).toMatchObject({ accepted: 1_000, dropped: 0, pending: 0 });
});

test("dropped records are not sent after all", async () => {
  const created = createClient(unreachable, {
    overflow: "drop-oldest",
    maxQueueBytes: 65_536,
    tapeBytes: 4_096,
  });
  for (let i = 0; i < 500; i++) {
    created.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(500) } }).end();
  }
  const { queueFull } = created.stats().lost;
  expect(queueFull).toBeGreaterThan(0);
  await created.close({ timeoutMs: 0 });
  expect(created.stats()).toMatchObject({ spooled: 1_000 - queueFull, pending: 0 });
  await using server = await runCounter();
  const next = createClient(server.url);
  await vi.waitFor(() => expect(next.stats().delivered).toBe(1_000 - queueFull), {
    timeout: 12_000,
  });
});

test("removing the folder loses only the copy on disk: records in memory arrive", async () => {
  await using server = await runCounter();
  const created = createClient(server.url);
  const first = created.startRun({ name: "first" });
  rmSync(testSpool.folder, { recursive: true });
  first.end();
  created.startRun({ name: "second" }).end();
  await expect(created.flush()).resolves.toMatchObject({ delivered: 4, lost: 0, pending: 0 });
});

test("if nothing can be written, a warning is logged, and everything is sent from memory", async () => {
  await using server = await runCounter();
  const created = createClient(server.url, { spoolDir: import.meta.filename });
  created.startRun({ name: "run" }).end();
  await expect(created.flush()).resolves.toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  expect(created.stats().warnings["spoolUnwritable"]).toBe(1);
});
