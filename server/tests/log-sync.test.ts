import { fdatasync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LogSync } from "../src/storage/sqlite/log-sync.ts";
import { temporaryFolder } from "./support/running-server.ts";

/** The syncs that were begun, each to be ended by the test. */
const begun: { readonly atMs: number; readonly end: () => void }[] = [];
const sync = ((_fd: number, onSynced: () => void): void => {
  begun.push({ atMs: performance.now(), end: onSynced });
}) as typeof fdatasync;

describe("while commits come, the log", () => {
  let path: string;

  beforeEach(async () => {
    path = join(await temporaryFolder(), "millrace.db");
    writeFileSync(`${path}-wal`, "");
    begun.length = 0;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => vi.useRealTimers());

  test("is synced 250 ms after the first that is not on disk, once for all of them", () => {
    const log = new LogSync(path, { sync });
    for (let commit = 0; commit < 20; commit += 1) {
      log.touch();
      vi.advanceTimersByTime(10);
    }
    expect(begun).toHaveLength(0);
    vi.advanceTimersByTime(60);
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    vi.advanceTimersByTime(10_000);
    expect(begun).toHaveLength(1);
    log.close();
  });

  test("is synced again for what came during a sync", () => {
    const log = new LogSync(path, { sync });
    log.touch();
    vi.advanceTimersByTime(250);
    log.touch();
    vi.advanceTimersByTime(400);
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    vi.advanceTimersByTime(0);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    log.close();
  });

  test("is synced also where commits keep every timer waiting", () => {
    const log = new LogSync(path, { sync });
    const began = performance.now();
    log.touch();
    // The clock goes on, and no timer is due: the thread is at work.
    vi.setSystemTime(0);
    const now = vi.spyOn(performance, "now").mockReturnValue(began + 300);
    log.touch();
    now.mockRestore();
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    log.close();
  });

  test("is never dirty for longer than half a second over two minutes of commits", () => {
    const log = new LogSync(path, { sync });
    const commits: number[] = [];
    for (let ms = 0; ms < 120_000; ms += 7) {
      commits.push(performance.now());
      log.touch();
      vi.advanceTimersByTime(7);
      // A disk that takes 50 ms for each.
      const last = begun.at(-1);
      if (last !== undefined && performance.now() - last.atMs >= 50) {
        last.end();
      }
    }
    const latest = commits.map((atMs) => (begun.find((one) => one.atMs >= atMs)?.atMs ?? 0) - atMs);
    expect(Math.max(...latest.slice(0, -100))).toBeLessThanOrEqual(257);
    expect(begun.length).toBeGreaterThan(400);
    expect(begun.length).toBeLessThan(500);
    log.close();
  });
});

test("a log that is not there is left alone, and a closed one is synced no more", async () => {
  const path = join(await temporaryFolder(), "millrace.db");
  begun.length = 0;
  const log = new LogSync(path, { delayMs: 0, sync });
  log.touch();
  expect(begun).toHaveLength(0);
  writeFileSync(`${path}-wal`, "");
  log.touch();
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  log.close();
  log.touch();
  expect(begun).toHaveLength(1);
});

test("Node's own sync takes the log's descriptor", async () => {
  const path = join(await temporaryFolder(), "millrace.db");
  writeFileSync(`${path}-wal`, "pages");
  const synced = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const log = new LogSync(path, {
      delayMs: 0,
      sync: ((fd: number, onSynced: (error: NodeJS.ErrnoException | null) => void) =>
        fdatasync(fd, (error) => {
          onSynced(error);
          log.close();
          resolve(error);
        })) as typeof fdatasync,
    });
    log.touch();
  });
  expect(synced).toBeNull();
});
