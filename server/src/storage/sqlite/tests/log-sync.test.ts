import { fdatasync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LogSync } from "../log-sync.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";

/** The syncs that were started; the test ends each of them. */
const begun: { readonly atMs: number; readonly end: () => void }[] = [];
const sync = ((_fd: number, onSynced: () => void): void => {
  begun.push({ atMs: performance.now(), end: onSynced });
}) as typeof fdatasync;

describe("while commits arrive, the log", () => {
  let path: string;

  beforeEach(async () => {
    path = join(await temporaryFolder(), "millrace.db");
    writeFileSync(`${path}-wal`, "");
    begun.length = 0;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => vi.useRealTimers());

  test("is synced once, 250 ms after the first commit that is not on disk", () => {
    const log = new LogSync(path, { sync });
    for (let commit = 0; commit < 20; commit += 1) {
      log.recordCommit();
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

  test("is synced again for commits that arrived during a sync", () => {
    const log = new LogSync(path, { sync });
    log.recordCommit();
    vi.advanceTimersByTime(250);
    log.recordCommit();
    vi.advanceTimersByTime(400);
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    vi.advanceTimersByTime(0);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    log.close();
  });

  test("is synced even if commits keep every timer from running", () => {
    const log = new LogSync(path, { sync });
    const startMs = performance.now();
    log.recordCommit();
    // Time passes, but no timer fires, as if the thread were busy.
    vi.setSystemTime(0);
    const now = vi.spyOn(performance, "now").mockReturnValue(startMs + 300);
    log.recordCommit();
    now.mockRestore();
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    log.close();
  });

  test("never has unsynced commits older than half a second over two minutes", () => {
    const log = new LogSync(path, { sync });
    const commits: number[] = [];
    for (let ms = 0; ms < 120_000; ms += 7) {
      commits.push(performance.now());
      log.recordCommit();
      vi.advanceTimersByTime(7);
      // Simulates a disk that takes 50 ms per sync.
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

test("is left alone if it does not exist, and is not synced after close", async () => {
  const path = join(await temporaryFolder(), "millrace.db");
  begun.length = 0;
  const log = new LogSync(path, { delayMs: 0, sync });
  log.recordCommit();
  expect(begun).toHaveLength(0);
  writeFileSync(`${path}-wal`, "");
  log.recordCommit();
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  log.close();
  log.recordCommit();
  expect(begun).toHaveLength(1);
});

test("is synced by Node through its file descriptor", async () => {
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
    log.recordCommit();
  });
  expect(synced).toBeNull();
});
