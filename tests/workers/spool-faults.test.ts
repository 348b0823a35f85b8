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
  appendBodies,
  spoolEntries,
  writeAndClose,
  onlySegmentPath,
  openSpool,
  testSpool,
  recoverSpool,
  takeAll,
  useSpoolFolders,
} from "../support/spooling.ts";

useSpoolFolders();

describe("a disk that fails", () => {
  test("a full disk throws, leaves no partial tape, and is used again when it has space", async () => {
    let room = 100;
    const disk = {
      ...fileSystem,
      writevSync(fd: number, parts: readonly NodeJS.ArrayBufferView[], at?: number | null): number {
        const bytes = Buffer.concat(parts as readonly Uint8Array[]);
        if (room === 0) {
          throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        }
        const writtenBytes = Math.min(room, bytes.length);
        room -= writtenBytes;
        return fileSystem.writeSync(fd, bytes, 0, writtenBytes, at);
      },
    };
    const { spool } = openSpool({ fileSystem: disk });
    appendBodies(spool, "one");
    expect(() => appendBodies(spool, "x".repeat(500))).toThrow(/ENOSPC/);
    expect(statSync(onlySegmentPath()).size).toBe(24 + 3);
    room = 10_000;
    appendBodies(spool, "two");
    expect(await takeAll(spool)).toEqual(["one", "two"]);
  });

  test("an operating-system limit on the file size is handled like a full disk", async () => {
    const program = new URL("../support/spool-program.mjs", import.meta.url).pathname;
    const command = `ulimit -f 8 && exec "${process.execPath}" "${program}" "${testSpool.folder}" "fill the disk"`;
    const { stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
    expect(JSON.parse(stdout)).toEqual(["written", "EFBIG", "written"]);
    expect((await recoverSpool()).bodies).toEqual(["a".repeat(3_000), "c".repeat(100)]);
  });

  test("a folder that can't be created throws each time, and recovers when it can be created", async () => {
    const blocked = join(testSpool.folder, "file");
    writeFileSync(blocked, "");
    const { spool } = openSpool({ folder: blocked });
    await spool.claim();
    expect(() => appendBodies(spool, "a")).toThrow(/ENOTDIR|EEXIST/);
    expect(() => appendBodies(spool, "b")).toThrow(/ENOTDIR|EEXIST/);
    rmSync(blocked);
    appendBodies(spool, "c");
    expect(await takeAll(spool)).toEqual(["c"]);
  });

  test("a folder that is removed during operation loses its content, which is counted; later tapes are kept", async () => {
    const { spool, losses } = openSpool();
    appendBodies(spool, "one", "two");
    rmSync(testSpool.folder, { recursive: true });
    appendBodies(spool, "three");
    expect(losses).toEqual([{ cause: "gone", ownRecordCount: 2, inheritedRecordCount: 0 }]);
    expect(await takeAll(spool)).toEqual(["three"]);
    spool.close();
  });

  test("a folder that is removed before it is read is counted too", async () => {
    const { spool, losses, troubles } = openSpool();
    appendBodies(spool, "one", "two");
    rmSync(testSpool.folder, { recursive: true });
    expect(await takeAll(spool)).toEqual([]);
    expect(losses).toEqual([{ cause: "gone", ownRecordCount: 2, inheritedRecordCount: 0 }]);
    expect(troubles).toEqual([expect.stringMatching(/^spoolUnreadable: .*ENOENT/)]);
    spool.close();
  });

  test("a failed fsync causes a warning, and loses nothing", async () => {
    const fsyncSync = (): void => {
      throw new Error("EIO: i/o error");
    };
    const { spool, troubles } = openSpool({ fileSystem: { ...fileSystem, fsyncSync } });
    appendBodies(spool, "one");
    spool.close();
    // Of the file, and of the directory with its name.
    expect(troubles).toEqual(["spoolUnsynced: EIO: i/o error", "spoolUnsynced: EIO: i/o error"]);
    expect((await recoverSpool()).bodies).toEqual(["one"]);
  });
});

describe("a damaged segment", () => {
  test("loses only the damaged tape, is quarantined, and its other tapes are sent", async () => {
    writeAndClose("one", "two", "three");
    const bytes = readFileSync(onlySegmentPath());
    bytes.writeUInt8(bytes.readUInt8(27 + 24) ^ 1, 27 + 24);
    writeFileSync(onlySegmentPath(), bytes);
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual(["one", "three"]);
    expect(troubles).toEqual([expect.stringMatching(/^spoolDamaged: .* 27 bytes at offset 27 /)]);
    expect(spoolEntries()).toEqual(["aside"]);
    expect(readFileSync(onlySegmentPath())).toEqual(bytes);
    expect((await recoverSpool()).bodies).toEqual([]);
  });

  test("that can't be quarantined stays where it is", async () => {
    writeAndClose("one", "two");
    const bytes = readFileSync(onlySegmentPath());
    bytes.writeUInt8(bytes.readUInt8(27 + 24) ^ 1, 27 + 24);
    writeFileSync(onlySegmentPath(), bytes);
    // A file where the folder of damaged segments should be.
    writeFileSync(join(testSpool.folder, "aside"), "");
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual(["one"]);
    expect(troubles).toEqual([
      expect.stringMatching(/^spoolDamaged: /),
      expect.stringMatching(/^spoolUnreadable: .*EEXIST/),
    ]);
    rmSync(join(testSpool.folder, "aside"));
    expect(readFileSync(onlySegmentPath())).toEqual(bytes);
  });

  test("of a later version is kept unchanged", async () => {
    writeAndClose("one");
    const newer = Buffer.from("a file of a later version, whatever it looks like");
    appendFileSync(onlySegmentPath(), newer);
    expect((await recoverSpool()).bodies).toEqual(["one"]);
    expect(readFileSync(onlySegmentPath()).subarray(-newer.length)).toEqual(newer);
  });

  test("that is incomplete at its end is not quarantined", async () => {
    writeAndClose("one", "two");
    writeFileSync(onlySegmentPath(), readFileSync(onlySegmentPath()).subarray(0, -2));
    expect((await recoverSpool()).bodies).toEqual(["one"]);
    expect(spoolEntries()).toEqual([]);
  });

  test("of the same client counts its lost records", async () => {
    const { spool, losses } = openSpool();
    appendBodies(spool, "one", "two");
    writeFileSync(onlySegmentPath(), readFileSync(onlySegmentPath()).subarray(0, -2));
    expect(await takeAll(spool)).toEqual(["one"]);
    expect(losses).toEqual([{ cause: "gone", ownRecordCount: 1, inheritedRecordCount: 0 }]);
  });

  test("quarantined files have a quota too", async () => {
    for (let i = 0; i < 6; i++) {
      writeAndClose("x".repeat(30_000), "y".repeat(300));
      const [writerDirectory = ""] = spoolEntries().filter((name) => name !== "aside");
      const [name = ""] = readdirSync(join(testSpool.folder, writerDirectory));
      const path = join(testSpool.folder, writerDirectory, name);
      writeFileSync(path, Buffer.from(readFileSync(path)).fill(0, 100, 110));
      const { spool } = openSpool({ quotaBytes: 100_000 });
      await spool.claim();
      expect(await takeAll(spool)).toEqual(["y".repeat(300)]);
      spool.close();
    }
    expect(readdirSync(join(testSpool.folder, "aside"))).toHaveLength(3);
  });

  test("with any corruption of the files: nothing throws, only written tapes are read, and an untouched file is read completely", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(150), value: fc.nat(255) }), { maxLength: 5 }),
        fc.option(fc.nat(150), { nil: undefined }),
        fc.uint8Array({ maxLength: 40 }),
        async (changes, cut, tail) => {
          writeAndClose("a body of some bytes", "another");
          const path = onlySegmentPath();
          const whole = readFileSync(path);
          const harmed = Buffer.concat([whole.subarray(0, cut ?? whole.length), tail]);
          for (const { at, value } of changes) {
            if (at < harmed.length) {
              harmed[at] = value;
            }
          }
          writeFileSync(path, harmed);
          writeAndClose("good");
          const { bodies } = await recoverSpool();
          expect(bodies.at(-1)).toBe("good");
          expect(["a body of some bytes", "another", "good"]).toEqual(
            expect.arrayContaining([...bodies]),
          );
          const isWhole = harmed.subarray(0, whole.length).equals(whole);
          expect(bodies.length).toBeGreaterThanOrEqual(isWhole ? 3 : 1);
          rmSync(join(testSpool.folder, "aside"), { recursive: true, force: true });
        },
      ),
      { numRuns: 80 },
    );
  });

  test("foreign files are left alone", async () => {
    for (const name of ["notes.txt", "1700000000000-free-xyz", "other"]) {
      writeFileSync(join(testSpool.folder, name), "mine");
    }
    const before = spoolEntries();
    expect((await recoverSpool()).bodies).toEqual([]);
    expect(spoolEntries()).toEqual(before);
  });

  test("a folder in place of a segment is left alone, with a warning", async () => {
    writeAndClose("one");
    const path = onlySegmentPath();
    rmSync(path);
    mkdirSync(path);
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual([]);
    expect(troubles).toEqual([
      expect.stringMatching(/^spoolRefused: .*does not belong to this user/),
    ]);
  });
});
