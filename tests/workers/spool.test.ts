import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Spool } from "../../src/workers/spool.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-spool-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Claimed {
  readonly bodies: readonly string[];
  /** Name and reason of each file that was left aside. */
  readonly skipped: readonly (readonly [string, string])[];
}

/** Claims all there is, and releases it. */
async function claimAll(spool: Spool): Promise<Claimed> {
  const bodies: string[] = [];
  const skipped: (readonly [string, string])[] = [];
  for await (const tape of spool.claim((...skip) => skipped.push(skip))) {
    bodies.push(Buffer.from(tape.body).toString("latin1"));
    await tape.release();
  }
  return { bodies, skipped };
}

const write = (spool: Spool, ...bodies: readonly string[]): void => {
  for (const body of bodies) {
    spool.write(Buffer.from(body, "latin1"));
  }
};

const files = (): readonly string[] => readdirSync(folder).toSorted();
const only = (): string => join(folder, files()[0] ?? "");

/** A pid that no process has: of one that ended. */
const deadPid = (): number => spawnSync(process.execPath, ["--version"]).pid;

test("what is written is claimed once, whole, the oldest first", async () => {
  const spool = new Spool(folder);
  write(spool, "first", "\u0000\u00ff\r\n", "", "fourth");
  expect(await claimAll(spool)).toEqual({
    bodies: ["first", "\u0000\u00ff\r\n", "", "fourth"],
    skipped: [],
  });
  expect(files()).toEqual([]);
  expect(await claimAll(spool)).toEqual({ bodies: [], skipped: [] });
});

test("ten and more of one millisecond keep their order", async () => {
  const spool = new Spool(folder);
  const bodies = Array.from({ length: 25 }, (_, index) => `body ${index}`);
  write(spool, ...bodies);
  expect((await claimAll(spool)).bodies).toEqual(bodies);
});

test("only the owner can read the folder and its files", () => {
  rmSync(folder, { recursive: true });
  write(new Spool(join(folder, "deep", "er")), "secret");
  const deep = join(folder, "deep", "er");
  expect(statSync(deep).mode & 0o777).toBe(0o700);
  expect(statSync(join(deep, readdirSync(deep)[0] ?? "")).mode & 0o777).toBe(0o600);
});

test("a folder that is not there yet is empty", async () => {
  expect(await claimAll(new Spool(join(folder, "new")))).toEqual({ bodies: [], skipped: [] });
});

test("what is no tape is left alone", async () => {
  for (const name of ["notes.txt", "1-2-3.tape.part", "1-2-3.tape.9.bad", "x-1-1.tape"]) {
    writeFileSync(join(folder, name), "mine");
  }
  const before = files();
  expect(await claimAll(new Spool(folder))).toEqual({ bodies: [], skipped: [] });
  expect(files()).toEqual(before);
});

test("a folder that can't be made throws the file system's error", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => new Spool(join(folder, "file", "x")).write(Buffer.from("a"))).toThrow(
    /ENOTDIR|EEXIST/,
  );
});

describe("a damaged file", () => {
  const damage: readonly (readonly [string, (bytes: Buffer) => Buffer, RegExp])[] = [
    ["empty", () => Buffer.alloc(0), /not a spool file/],
    ["torn in its head", (bytes) => bytes.subarray(0, 10), /not a spool file/],
    ["torn in its body", (bytes) => bytes.subarray(0, -3), /cut short/],
    ["longer than it says", (bytes) => Buffer.concat([bytes, bytes]), /cut short/],
    ["of a huge length", (bytes) => (bytes.writeUInt32LE(0xff_ff_ff_ff, 8), bytes), /cut short/],
    ["of another kind", (bytes) => (bytes.writeUInt32LE(7, 0), bytes), /not a spool file/],
    ["of a later version", (bytes) => (bytes.writeUInt16LE(9, 4), bytes), /format version 9/],
    ["flipped in one bit", (bytes) => ((bytes[20] = (bytes[20] ?? 0) ^ 1), bytes), /damaged/],
  ];

  test.each(damage)(
    "(%s) is left aside with the reason, and costs no other",
    async (_, harm, why) => {
      const spool = new Spool(folder);
      write(spool, "the bad one");
      writeFileSync(only(), harm(readFileSync(only())));
      write(spool, "the good one");
      const { bodies, skipped } = await claimAll(spool);
      expect(bodies).toEqual(["the good one"]);
      expect(skipped).toEqual([[expect.any(String), expect.stringMatching(why)]]);
      expect(files()).toEqual([expect.stringMatching(/\.bad$/)]);
      expect(await claimAll(spool)).toEqual({ bodies: [], skipped: [] });
    },
  );

  test("of whatever damage never throws, and never comes back as a tape", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(40), value: fc.nat(255) }), { minLength: 1 }),
        fc.nat(60),
        async (changes, cut) => {
          const spool = new Spool(folder);
          write(spool, "a body of some bytes");
          const path = only();
          const whole = readFileSync(path);
          const harmed = Buffer.from(whole.subarray(0, cut));
          for (const { at, value } of changes) {
            if (at < harmed.length) {
              harmed[at] = value;
            }
          }
          writeFileSync(path, harmed);
          write(spool, "good");
          const { bodies } = await claimAll(spool);
          // The two bytes after the version mean nothing.
          const isWhole = harmed.equals(whole) || bodies.includes("a body of some bytes");
          expect(bodies).toEqual(isWhole ? ["a body of some bytes", "good"] : ["good"]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("several processes", () => {
  test("claim each file once", async () => {
    const bodies = Array.from({ length: 40 }, (_, index) => `body ${index}`);
    write(new Spool(folder), ...bodies);
    const script = new URL("../support/claim-spool.mjs", import.meta.url);
    const children = Array.from({ length: 3 }, () => fork(script, [folder], { execArgv: [] }));
    // Each begins when all are there.
    await Promise.all(children.map((child) => once(child, "message")));
    const answers = children.map((child) => once(child, "message"));
    children.forEach((child) => child.send("go"));
    const claimed = (await Promise.all(answers)).flatMap(([message]) => message as string[]);
    expect(claimed.toSorted()).toEqual(bodies.toSorted());
    expect(files()).toEqual([]);
  });

  test("a claim of a process that is gone is void", async () => {
    const spool = new Spool(folder);
    write(spool, "left behind");
    for await (const _tape of spool.claim(() => undefined)) {
      // Claimed, and never released: the process dies here.
    }
    const [name = ""] = files();
    writeFileSync(join(folder, name.replace(/\d+$/, String(deadPid()))), readFileSync(only()));
    rmSync(join(folder, name));
    expect((await claimAll(spool)).bodies).toEqual(["left behind"]);
  });

  test("a claim of a process that lives is its own", async () => {
    const spool = new Spool(folder);
    write(spool, "under way");
    const [name = ""] = files();
    const claimed = `${name}.${process.ppid}`;
    writeFileSync(join(folder, claimed), readFileSync(only()));
    rmSync(join(folder, name));
    expect((await claimAll(spool)).bodies).toEqual([]);
    expect(files()).toEqual([claimed]);
  });

  test("a claim of an earlier process with the pid of this one is void, as in a container", async () => {
    const spool = new Spool(folder);
    write(spool, "left behind");
    const [name = ""] = files();
    const claimed = join(folder, `${name}.${process.pid}`);
    renameSync(only(), claimed);
    const longAgo = new Date("2026-01-01");
    utimesSync(claimed, longAgo, longAgo);
    expect((await claimAll(spool)).bodies).toEqual(["left behind"]);
  });

  test("a claim of this process is not claimed by another client of it", async () => {
    write(new Spool(folder), "under way");
    for await (const tape of new Spool(folder).claim(() => undefined)) {
      expect(await claimAll(new Spool(folder))).toEqual({ bodies: [], skipped: [] });
      await tape.release();
    }
    expect(files()).toEqual([]);
  });

  test("two clients of one process never write to one name", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let round = 0; round < 10; round++) {
      write(new Spool(folder), "a body");
    }
    vi.useRealTimers();
    expect(files()).toHaveLength(10);
  });
});

test("what can't be read is left aside with the reason, and costs no other", async () => {
  const spool = new Spool(folder);
  mkdirSync(join(folder, "1-1-1.tape"));
  write(spool, "the good one");
  const { bodies, skipped } = await claimAll(spool);
  expect(bodies).toEqual(["the good one"]);
  expect(skipped).toEqual([["1-1-1.tape", expect.stringMatching(/unreadable .*EISDIR/)]]);
});

test("a file that is gone when it is released is released", async () => {
  const spool = new Spool(folder);
  write(spool, "a body");
  for await (const tape of spool.claim(() => undefined)) {
    rmSync(only());
    await tape.release();
  }
  expect(files()).toEqual([]);
});
