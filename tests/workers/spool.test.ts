import { spawnSync } from "node:child_process";
import * as fileSystem from "node:fs";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  append,
  inFolder,
  leaveBehind,
  only,
  open,
  place,
  recover,
  segments,
  takeAll,
} from "../support/spooling.ts";

describe("what is appended", () => {
  test("is read by the same client, in order and once; then the file goes", async () => {
    const { spool } = open();
    append(spool, "first", "\u0000\u00ff\r\n", "third");
    expect(segments()).toHaveLength(1);
    expect(await takeAll(spool)).toEqual(["first", "\u0000\u00ff\r\n", "third"]);
    expect(spool.bytes).toBe(0);
    append(spool, "fourth");
    expect(await takeAll(spool)).toEqual(["fourth"]);
    spool.close();
    expect(inFolder()).toEqual([]);
  });

  test("is read by the next client, and is then counted as another's", async () => {
    leaveBehind("one", "two");
    const { spool } = open();
    await spool.claim();
    await expect(spool.next()).resolves.toMatchObject({ records: 1, own: false });
    expect(await takeAll(spool)).toEqual(["one", "two"]);
    spool.close();
    expect(inFolder()).toEqual([]);
  });

  test("of earlier clients comes before our own, the oldest first", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const body of ["a", "b", "c"]) {
      leaveBehind(body);
      vi.advanceTimersByTime(1_000);
    }
    vi.useRealTimers();
    const { spool } = open();
    append(spool, "ours");
    await spool.claim();
    expect(await takeAll(spool)).toEqual(["a", "b", "c", "ours"]);
  });

  test("stays until it is done, tape by tape, and whole segments survive a close in mid-reading", async () => {
    const { spool } = open();
    append(spool, "one", "two");
    await spool.next();
    spool.done();
    spool.close();
    expect((await recover()).bodies).toEqual(["one", "two"]);
  });

  test("fills one segment after another", async () => {
    const { spool } = open();
    const bodies = Array.from({ length: 9 }, (_, i) => String(i).repeat(1_000_000));
    append(spool, ...bodies);
    expect(segments().length).toBe(2);
    expect(await takeAll(spool)).toEqual(bodies);
  });

  test("can be read by the owner alone, and so can the folders", () => {
    place.folder = join(place.folder, "deep", "er");
    leaveBehind("secret");
    const [lane = ""] = inFolder();
    expect(statSync(place.folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(place.folder, lane)).mode & 0o777).toBe(0o700);
    expect(statSync(only()).mode & 0o777).toBe(0o600);
    place.folder = join(place.folder, "..", "..");
  });

  test("goes to the disk with one fsync for all of an interval, and at close", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const fsync = vi.fn<(fd: number, done: (error: null) => void) => void>((_fd, done) =>
      done(null),
    );
    const fsyncSync = vi.fn<(fd: number) => void>();
    const disk = { ...fileSystem, fsync, fsyncSync } as unknown as typeof fileSystem;
    const { spool } = open({ syncMs: 500, disk });
    append(spool, "one", "two", "three");
    vi.advanceTimersByTime(499);
    expect(fsync).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fsync).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(5_000);
    expect(fsync).toHaveBeenCalledTimes(1);
    append(spool, "four");
    spool.close();
    expect(fsyncSync).toHaveBeenCalledTimes(1);
    vi.useRealTimers();
  });

  test("with an interval of 0 is on the disk when the call returns", () => {
    const fsyncSync = vi.fn<(fd: number) => void>();
    const { spool } = open({ syncMs: 0, disk: { ...fileSystem, fsyncSync } });
    append(spool, "one");
    expect(fsyncSync).toHaveBeenCalledTimes(1);
  });

  test("survives kill -9 of its process", async () => {
    const program = new URL("../support/spool-program.mjs", import.meta.url).pathname;
    const { signal } = spawnSync(process.execPath, [program, place.folder, "append and be killed"]);
    expect(signal).toBe("SIGKILL");
    expect((await recover()).bodies).toEqual(["one", "two"]);
  });
});

describe("the quota", () => {
  test("has the oldest segments go, and says how many records they held", async () => {
    const { spool, losses } = open({ quotaBytes: 10_000_000 });
    const bodies = Array.from({ length: 15 }, (_, i) =>
      String.fromCodePoint(97 + i).repeat(1_000_000),
    );
    append(spool, ...bodies);
    expect(spool.bytes).toBeLessThanOrEqual(10_000_000);
    expect(losses).toEqual([
      { why: "evicted", own: 2, inherited: 0 },
      { why: "evicted", own: 2, inherited: 0 },
      { why: "evicted", own: 2, inherited: 0 },
    ]);
    expect(await takeAll(spool)).toEqual(bodies.slice(6));
  });

  test("counts what earlier processes left, and has it go first", async () => {
    leaveBehind("x".repeat(3_000_000), "y".repeat(3_000_000));
    const { spool, losses } = open({ quotaBytes: 8_000_000 });
    await spool.claim();
    append(spool, "z".repeat(3_000_000));
    expect(losses).toEqual([{ why: "evicted", own: 0, inherited: 2 }]);
    expect(await takeAll(spool)).toEqual(["z".repeat(3_000_000)]);
  });

  test("does not take the segment that is being sent", async () => {
    const { spool, losses } = open({ quotaBytes: 1_000_000 });
    append(spool, "a".repeat(600_000));
    await spool.next();
    expect(() => append(spool, "b".repeat(600_000))).toThrow(/quota of 1000000/);
    expect(losses).toEqual([]);
    spool.done();
    append(spool, "b".repeat(600_000));
    expect(await takeAll(spool)).toEqual(["b".repeat(600_000)]);
  });

  test("refuses what is more than all of it, and keeps the rest", async () => {
    const { spool } = open({ quotaBytes: 1_000 });
    append(spool, "small");
    expect(() => append(spool, "x".repeat(2_000))).toThrow(/quota/);
    expect(await takeAll(spool)).toEqual(["small"]);
  });
});
