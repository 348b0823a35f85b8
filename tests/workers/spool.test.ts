import { spawnSync } from "node:child_process";
import * as fileSystem from "node:fs";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  appendBodies,
  spoolEntries,
  writeAndClose,
  onlySegmentPath,
  openSpool,
  testSpool,
  recoverSpool,
  segmentPaths,
  takeAll,
  useSpoolFolders,
} from "../support/spooling.ts";

useSpoolFolders();

describe("an appended tape", () => {
  test("is read by the same client, in order and once; then the file is removed", async () => {
    const { spool } = openSpool();
    appendBodies(spool, "first", "\u0000\u00ff\r\n", "third");
    expect(segmentPaths()).toHaveLength(1);
    expect(await takeAll(spool)).toEqual(["first", "\u0000\u00ff\r\n", "third"]);
    expect(spool.bytes).toBe(0);
    appendBodies(spool, "fourth");
    expect(await takeAll(spool)).toEqual(["fourth"]);
    spool.close();
    expect(spoolEntries()).toEqual([]);
  });

  test("is read by the next client, and counted as inherited", async () => {
    writeAndClose("one", "two");
    const { spool } = openSpool();
    await spool.claim();
    await expect(spool.readNextTape()).resolves.toMatchObject({ recordCount: 1, isOwn: false });
    expect(await takeAll(spool)).toEqual(["one", "two"]);
    spool.close();
    expect(spoolEntries()).toEqual([]);
  });

  test("of an earlier client comes before the client's own, the oldest first", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const body of ["a", "b", "c"]) {
      writeAndClose(body);
      vi.advanceTimersByTime(1_000);
    }
    vi.useRealTimers();
    const { spool } = openSpool();
    appendBodies(spool, "ours");
    await spool.claim();
    expect(await takeAll(spool)).toEqual(["a", "b", "c", "ours"]);
  });

  test("stays until it is done, and whole segments survive a close during reading", async () => {
    const { spool } = openSpool();
    appendBodies(spool, "one", "two");
    await spool.readNextTape();
    spool.completeTape();
    spool.close();
    expect((await recoverSpool()).bodies).toEqual(["one", "two"]);
  });

  test("fills one segment after another", async () => {
    const { spool } = openSpool();
    const bodies = Array.from({ length: 9 }, (_, i) => String(i).repeat(1_000_000));
    appendBodies(spool, ...bodies);
    expect(segmentPaths().length).toBe(2);
    expect(await takeAll(spool)).toEqual(bodies);
  });

  test("can be read only by the owner, and so can the folders", () => {
    testSpool.folder = join(testSpool.folder, "deep", "er");
    writeAndClose("secret");
    const [writerDirectory = ""] = spoolEntries();
    expect(statSync(testSpool.folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(testSpool.folder, writerDirectory)).mode & 0o777).toBe(0o700);
    expect(statSync(onlySegmentPath()).mode & 0o777).toBe(0o600);
    testSpool.folder = join(testSpool.folder, "..", "..");
  });

  test("is synced to disk with one fsync per interval, and at close", () => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"],
    });
    const fsync = vi.fn<(fd: number, done: (error: null) => void) => void>((_fd, done) =>
      done(null),
    );
    const fsyncSync = vi.fn<(fd: number) => void>();
    const disk = { ...fileSystem, fsync, fsyncSync } as unknown as typeof fileSystem;
    const { spool } = openSpool({ syncMs: 500, fileSystem: disk });
    appendBodies(spool, "one", "two", "three");
    vi.advanceTimersByTime(499);
    expect(fsync).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    // The file, and the directory with its name.
    expect(fsync).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(5_000);
    expect(fsync).toHaveBeenCalledTimes(2);
    appendBodies(spool, "four");
    spool.close();
    expect(fsyncSync).toHaveBeenCalledTimes(1);
    vi.useRealTimers();
  });

  test("that is appended while the disk is busy with an fsync is synced in the next interval, or at close", () => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"],
    });
    const ends: (() => void)[] = [];
    const fsync = vi.fn<(fd: number, done: (error: null) => void) => void>((_fd, done) => {
      ends.push(() => done(null));
    });
    const endSyncs = () => ends.splice(0).forEach((end) => end());
    const fsyncSync = vi.fn<(fd: number) => void>();
    const disk = { ...fileSystem, fsync, fsyncSync } as unknown as typeof fileSystem;
    const { spool } = openSpool({ syncMs: 500, fileSystem: disk });
    const ofSegment = () => {
      const [segment] = fsync.mock.calls[0] ?? [];
      return fsync.mock.calls.filter(([descriptor]) => descriptor === segment).length;
    };
    appendBodies(spool, "one");
    vi.advanceTimersByTime(500);
    appendBodies(spool, "two");
    vi.advanceTimersByTime(1_000);
    expect(ofSegment()).toBe(1);
    endSyncs();
    vi.advanceTimersByTime(500);
    expect(ofSegment()).toBe(2);
    appendBodies(spool, "three");
    vi.advanceTimersByTime(500);
    spool.close();
    expect(fsyncSync).toHaveBeenCalledTimes(1);
    endSyncs();
    vi.useRealTimers();
  });

  test("with an interval of 0 is on the disk when the call returns, and so is the name of its file", () => {
    const fsyncSync = vi.fn<(fd: number) => void>();
    const { spool } = openSpool({ syncMs: 0, fileSystem: { ...fileSystem, fsyncSync } });
    appendBodies(spool, "one");
    expect(fsyncSync).toHaveBeenCalledTimes(2);
    appendBodies(spool, "two");
    expect(fsyncSync).toHaveBeenCalledTimes(3);
  });

  test("survives kill -9 of its process", async () => {
    const program = new URL("../support/spool-program.mjs", import.meta.url).pathname;
    const { signal } = spawnSync(process.execPath, [
      program,
      testSpool.folder,
      "append and be killed",
    ]);
    expect(signal).toBe("SIGKILL");
    expect((await recoverSpool()).bodies).toEqual(["one", "two"]);
  });
});

describe("the quota", () => {
  test("removes the oldest segments, and reports how many records they contained", async () => {
    const { spool, losses } = openSpool({ quotaBytes: 10_000_000 });
    const bodies = Array.from({ length: 15 }, (_, i) =>
      String.fromCodePoint(97 + i).repeat(1_000_000),
    );
    appendBodies(spool, ...bodies);
    expect(spool.bytes).toBeLessThanOrEqual(10_000_000);
    expect(losses).toEqual([
      { cause: "evicted", ownRecordCount: 2, inheritedRecordCount: 0 },
      { cause: "evicted", ownRecordCount: 2, inheritedRecordCount: 0 },
      { cause: "evicted", ownRecordCount: 2, inheritedRecordCount: 0 },
    ]);
    expect(await takeAll(spool)).toEqual(bodies.slice(6));
  });

  test("counts segments of earlier processes, and removes them first", async () => {
    writeAndClose("x".repeat(3_000_000), "y".repeat(3_000_000));
    const { spool, losses } = openSpool({ quotaBytes: 8_000_000 });
    await spool.claim();
    appendBodies(spool, "z".repeat(3_000_000));
    expect(losses).toEqual([{ cause: "evicted", ownRecordCount: 0, inheritedRecordCount: 2 }]);
    expect(await takeAll(spool)).toEqual(["z".repeat(3_000_000)]);
  });

  test("does not remove the segment that is being sent", async () => {
    const { spool, losses } = openSpool({ quotaBytes: 1_000_000 });
    appendBodies(spool, "a".repeat(600_000));
    await spool.readNextTape();
    expect(() => appendBodies(spool, "b".repeat(600_000))).toThrow(/quota of 1000000/);
    expect(losses).toEqual([]);
    spool.completeTape();
    appendBodies(spool, "b".repeat(600_000));
    expect(await takeAll(spool)).toEqual(["b".repeat(600_000)]);
  });

  test("refuses a tape that is larger than the quota, and keeps the others", async () => {
    const { spool } = openSpool({ quotaBytes: 1_000 });
    appendBodies(spool, "small");
    expect(() => appendBodies(spool, "x".repeat(2_000))).toThrow(/quota/);
    expect(await takeAll(spool)).toEqual(["small"]);
  });
});
