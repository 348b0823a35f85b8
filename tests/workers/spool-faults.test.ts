import { spawnSync } from "node:child_process";
import * as fileSystem from "node:fs";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  append,
  inFolder,
  leaveBehind,
  only,
  open,
  place,
  recover,
  takeAll,
} from "../support/spooling.ts";

describe("a disk that fails", () => {
  test("a full disk throws, leaves no half of a tape, and is used again when it has room", async () => {
    let room = 100;
    const disk = {
      ...fileSystem,
      writevSync(fd: number, parts: readonly NodeJS.ArrayBufferView[], at?: number | null): number {
        const bytes = Buffer.concat(parts as readonly Uint8Array[]);
        if (room === 0) {
          throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        }
        const taken = Math.min(room, bytes.length);
        room -= taken;
        return fileSystem.writeSync(fd, bytes, 0, taken, at);
      },
    };
    const { spool } = open({ disk });
    append(spool, "one");
    expect(() => append(spool, "x".repeat(500))).toThrow(/ENOSPC/);
    expect(statSync(only()).size).toBe(24 + 3);
    room = 10_000;
    append(spool, "two");
    expect(await takeAll(spool)).toEqual(["one", "two"]);
  });

  test("a limit of the operating system on a file's length is as a full disk", async () => {
    const program = new URL("../support/spool-program.mjs", import.meta.url).pathname;
    const command = `ulimit -f 8 && exec "${process.execPath}" "${program}" "${place.folder}" "fill the disk"`;
    const { stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
    expect(JSON.parse(stdout)).toEqual(["written", "EFBIG", "written"]);
    expect((await recover()).bodies).toEqual(["a".repeat(3_000), "c".repeat(100)]);
  });

  test("a folder that can't be made throws, each time, and recovers when it can be", async () => {
    const blocked = join(place.folder, "file");
    writeFileSync(blocked, "");
    const { spool } = open({ folder: blocked });
    await spool.claim();
    expect(() => append(spool, "a")).toThrow(/ENOTDIR|EEXIST/);
    expect(() => append(spool, "b")).toThrow(/ENOTDIR|EEXIST/);
    rmSync(blocked);
    append(spool, "c");
    expect(await takeAll(spool)).toEqual(["c"]);
  });

  test("a folder that is removed while it runs costs what it held, counted; the rest is kept", async () => {
    const { spool, losses } = open();
    append(spool, "one", "two");
    rmSync(place.folder, { recursive: true });
    append(spool, "three");
    expect(losses).toEqual([{ why: "gone", own: 2, inherited: 0 }]);
    expect(await takeAll(spool)).toEqual(["three"]);
    spool.close();
  });

  test("a folder that is removed before the reading is counted too", async () => {
    const { spool, losses, troubles } = open();
    append(spool, "one", "two");
    rmSync(place.folder, { recursive: true });
    expect(await takeAll(spool)).toEqual([]);
    expect(losses).toEqual([{ why: "gone", own: 2, inherited: 0 }]);
    expect(troubles).toEqual([expect.stringMatching(/^spoolUnreadable: .*ENOENT/)]);
    spool.close();
  });

  test("a failed fsync is said, and costs nothing", async () => {
    const fsyncSync = (): void => {
      throw new Error("EIO: i/o error");
    };
    const { spool, troubles } = open({ disk: { ...fileSystem, fsyncSync } });
    append(spool, "one");
    spool.close();
    expect(troubles).toEqual(["spoolUnsynced: EIO: i/o error"]);
    expect((await recover()).bodies).toEqual(["one"]);
  });
});

describe("a damaged segment", () => {
  test("loses the tape that is damaged, is kept aside, and the rest is sent", async () => {
    leaveBehind("one", "two", "three");
    const bytes = readFileSync(only());
    bytes.writeUInt8(bytes.readUInt8(27 + 24) ^ 1, 27 + 24);
    writeFileSync(only(), bytes);
    const { bodies, troubles } = await recover();
    expect(bodies).toEqual(["one", "three"]);
    expect(troubles).toEqual([expect.stringMatching(/^spoolDamaged: .* 27 bytes at 27 /)]);
    expect(inFolder()).toEqual(["aside"]);
    expect(readFileSync(only())).toEqual(bytes);
    expect((await recover()).bodies).toEqual([]);
  });

  test("of a later version is kept as it is", async () => {
    leaveBehind("one");
    const newer = Buffer.from("a file of a later version, whatever it looks like");
    appendFileSync(only(), newer);
    expect((await recover()).bodies).toEqual(["one"]);
    expect(readFileSync(only()).subarray(-newer.length)).toEqual(newer);
  });

  test("that is torn at its end is no damage worth keeping", async () => {
    leaveBehind("one", "two");
    writeFileSync(only(), readFileSync(only()).subarray(0, -2));
    expect((await recover()).bodies).toEqual(["one"]);
    expect(inFolder()).toEqual([]);
  });

  test("of our own counts what is lost of it", async () => {
    const { spool, losses } = open();
    append(spool, "one", "two");
    writeFileSync(only(), readFileSync(only()).subarray(0, -2));
    expect(await takeAll(spool)).toEqual(["one"]);
    expect(losses).toEqual([{ why: "gone", own: 1, inherited: 0 }]);
  });

  test("what is kept aside has a quota too", async () => {
    for (let i = 0; i < 6; i++) {
      leaveBehind("x".repeat(30_000), "y".repeat(300));
      const [lane = ""] = inFolder().filter((name) => name !== "aside");
      const [name = ""] = readdirSync(join(place.folder, lane));
      const path = join(place.folder, lane, name);
      writeFileSync(path, Buffer.from(readFileSync(path)).fill(0, 100, 110));
      const { spool } = open({ quotaBytes: 100_000 });
      await spool.claim();
      expect(await takeAll(spool)).toEqual(["y".repeat(300)]);
      spool.close();
    }
    expect(readdirSync(join(place.folder, "aside"))).toHaveLength(3);
  });

  test("whatever is done to the files: no throw, nothing that was not written, the untouched file whole", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(150), value: fc.nat(255) }), { maxLength: 5 }),
        fc.option(fc.nat(150), { nil: undefined }),
        fc.uint8Array({ maxLength: 40 }),
        async (changes, cut, tail) => {
          leaveBehind("a body of some bytes", "another");
          const path = only();
          const whole = readFileSync(path);
          const harmed = Buffer.concat([whole.subarray(0, cut ?? whole.length), tail]);
          for (const { at, value } of changes) {
            if (at < harmed.length) {
              harmed[at] = value;
            }
          }
          writeFileSync(path, harmed);
          leaveBehind("good");
          const { bodies } = await recover();
          expect(bodies.at(-1)).toBe("good");
          expect(["a body of some bytes", "another", "good"]).toEqual(
            expect.arrayContaining([...bodies]),
          );
          const isWhole = harmed.subarray(0, whole.length).equals(whole);
          expect(bodies.length).toBeGreaterThanOrEqual(isWhole ? 3 : 1);
          rmSync(join(place.folder, "aside"), { recursive: true, force: true });
        },
      ),
      { numRuns: 80 },
    );
  });

  test("what is none of ours is left alone", async () => {
    for (const name of ["notes.txt", "1700000000000-free-xyz", "lane"]) {
      writeFileSync(join(place.folder, name), "mine");
    }
    const before = inFolder();
    expect((await recover()).bodies).toEqual([]);
    expect(inFolder()).toEqual(before);
  });

  test("a folder in the place of a segment is left, and said", async () => {
    leaveBehind("one");
    const path = only();
    rmSync(path);
    mkdirSync(path);
    const { bodies, troubles } = await recover();
    expect(bodies).toEqual([]);
    expect(troubles).toEqual([
      expect.stringMatching(/^spoolRefused: .*does not belong to this user/),
    ]);
  });
});
