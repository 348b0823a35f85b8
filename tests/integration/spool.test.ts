import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { ClientOptions, ClientStats } from "millrace";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startStatusServer } from "../support/status-server.ts";

let folder: string;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-spool-"));
});

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) {
    await close();
  }
  rmSync(folder, { recursive: true, force: true });
});

function client(endpoint: string, options: ClientOptions = {}): Client {
  const created = new Client({
    endpoint,
    spoolDir: folder,
    attempts: 1,
    tapeBytes: 4_096,
    requestsInFlight: 1,
    logger: { warn: () => undefined },
    ...options,
  });
  closing.push(() => created.close({ timeoutMs: 0 }));
  return created;
}

function record(created: Client, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => {
    const run = created.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(500) } });
    run.end({ i });
    return run.id;
  });
}

const sum = ({ delivered, rejected, dropped, spooled, pending }: ClientStats): number =>
  delivered + rejected + dropped + spooled + pending;

test("records that exceed the queue during an outage go to disk, and all arrive when the server is back", async () => {
  const server = await startStatusServer(503);
  const created = client(server.url, { overflow: "spool", maxQueueBytes: 65_536 });
  const ids = record(created, 500);
  const statsWhileDown = created.stats();
  expect(statsWhileDown.spooled).toBeGreaterThan(500);
  expect(statsWhileDown).toMatchObject({ accepted: 1_000, dropped: 0 });
  expect(sum(statsWhileDown)).toBe(1_000);
  server.status = 202;
  await vi.waitFor(
    () => expect(created.stats()).toMatchObject({ accepted: 1_000, delivered: 1_000, spooled: 0 }),
    { timeout: 12_000, interval: 50 },
  );
  expect(server.ended).toEqual(new Set(ids));
});

test("the next client sends the records that a closed one left, and counts them as its own", async () => {
  const server = await startStatusServer(503);
  const first = client(server.url);
  const ids = record(first, 20);
  await first.close({ timeoutMs: 100 });
  expect(first.stats()).toMatchObject({ accepted: 40, spooled: 40, dropped: 0, pending: 0 });
  server.status = 202;
  const second = client(server.url);
  await vi.waitFor(() => expect(second.stats().delivered).toBe(40), { timeout: 12_000 });
  expect(server.ended).toEqual(new Set(ids));
  expect(second.stats()).toMatchObject({ accepted: 40, spooled: 0, pending: 0 });
  await second.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("records that the server refuses are counted as rejected, and kept as dead letters that no client sends", async () => {
  const server = await startStatusServer(422);
  const first = client(server.url);
  record(first, 3);
  await first.close();
  expect(first.stats()).toMatchObject({ accepted: 6, rejected: 6, spooled: 0, dropped: 0 });
  expect(readdirSync(folder)).toEqual(["dead"]);
  server.status = 202;
  const second = client(server.url);
  const after = record(second, 1);
  await second.close();
  expect(server.ended).toEqual(new Set(after));
  expect(readdirSync(folder)).toEqual(["dead"]);
});

test("an unwritable spool loses only the records that exceed the queue, which are counted; recording continues", async () => {
  const server = await startStatusServer(202);
  const blocked = join(folder, "file");
  writeFileSync(blocked, "");
  const created = client(server.url, {
    overflow: "spool",
    maxQueueBytes: 65_536,
    spoolDir: blocked,
  });
  record(created, 500);
  const { lost, warnings } = created.stats();
  expect(lost.queueFull).toBeGreaterThan(0);
  expect(warnings["spoolUnwritable"]).toBeGreaterThan(0);
  expect(sum(created.stats())).toBe(1_000);
  await created.flush();
  expect(created.stats()).toMatchObject({ delivered: 1_000 - lost.queueFull, pending: 0 });
});
