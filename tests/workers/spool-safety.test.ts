import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Client } from "millrace";
import { replaySpool } from "millrace/spool";
import { DeadLetters } from "../../src/workers/spool/dead-letters.ts";
import { runCounter } from "../support/run-counter.ts";
import {
  appendBodies,
  spoolEntries,
  writeAndClose,
  openSpool,
  testSpool,
  recoverSpool,
  useSpoolFolders,
} from "../support/spooling.ts";

useSpoolFolders();

/** A user id that no user has. */
const otherUserId = 54_321;

/** Changes the owner of a file, which only root may do; for other users the test is skipped with the reason. */
function changeOwner(path: string, skip: (why: string) => never): void {
  if (process.getuid?.() !== 0) {
    skip("only root may give a file away");
  }
  chownSync(path, otherUserId, otherUserId);
}

let elsewhere: string;
beforeEach(() => {
  elsewhere = mkdtempSync(join(tmpdir(), "millrace-elsewhere-"));
});
afterEach(() => {
  rmSync(elsewhere, { recursive: true, force: true });
});

/** Writes to the folder and reads from it; returns why it was refused. */
async function refusedBy(): Promise<string> {
  const openedSpool = openSpool();
  expect(() => appendBodies(openedSpool.spool, "secret")).toThrow(
    /Set spoolDir to a folder that belongs to this user/,
  );
  await openedSpool.spool.claim();
  expect(await openedSpool.spool.readNextTape()).toBeUndefined();
  openedSpool.spool.close();
  const letters = new DeadLetters({
    folder: testSpool.folder,
    quotaBytes: 100_000,
    onFault: (kind, message) => openedSpool.troubles.push(`${kind}: ${message}`),
  });
  letters.write(Buffer.from("secret"), 1, { at: 0, refused: [] });
  letters.close();
  return openedSpool.troubles.join("\n");
}

describe("a spool's folder is refused", () => {
  test("that every user can write to", async () => {
    writeAndClose("planted");
    chmodSync(testSpool.folder, 0o777);
    const before = spoolEntries();
    expect(await refusedBy()).toMatch(/spoolRefused: .* is writable by every user/);
    expect(spoolEntries()).toEqual(before);
  });

  test("that every user can write to, with the sticky bit", async () => {
    chmodSync(testSpool.folder, 0o1777);
    expect(await refusedBy()).toMatch(/spoolRefused: .* is writable by every user/);
    expect(spoolEntries()).toEqual([]);
  });

  test("that belongs to another user", async ({ skip }) => {
    writeAndClose("planted");
    changeOwner(testSpool.folder, skip);
    const before = spoolEntries();
    expect(await refusedBy()).toMatch(/spoolRefused: .* belongs to another user \(uid 54321\)/);
    expect(spoolEntries()).toEqual(before);
  });

  test("by a client, which warns, counts the lost records, and continues", async () => {
    chmodSync(testSpool.folder, 0o777);
    await using server = await runCounter();
    const lines: string[] = [];
    const logger = { warn: (line: string) => lines.push(line) };
    const client = new Client({ endpoint: server.url, spoolDir: testSpool.folder, logger });
    client.startRun({ name: "run" }).end({});
    expect(await client.flush({ timeoutMs: 12_000 })).toMatchObject({ delivered: 2 });
    expect(client.stats().warnings).toEqual({ spoolRefused: 1 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("Set spoolDir to a folder that belongs to this user");
    await client.close();
    expect(spoolEntries()).toEqual([]);
  });

  test("by millrace/spool", async () => {
    chmodSync(testSpool.folder, 0o777);
    const replay = replaySpool({ spoolDir: testSpool.folder, limitMs: 1_000 });
    await expect(replay).rejects.toThrow(/is writable by every user/);
  });
});

describe("within the user's own folder", () => {
  test("a writer directory of another user is ignored", async ({ skip }) => {
    writeAndClose("planted");
    const [writerDirectory = ""] = spoolEntries();
    changeOwner(join(testSpool.folder, writerDirectory), skip);
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual([]);
    expect(troubles.join("\n")).toMatch(/spoolRefused: .*does not belong to this user/);
    expect(spoolEntries()).toEqual([writerDirectory]);
  });

  test("a file of another user in a writer directory is ignored, and the other files are sent", async ({
    skip,
  }) => {
    writeAndClose("ours");
    const [writerDirectory = ""] = spoolEntries();
    const file = join(testSpool.folder, writerDirectory, "00000009-0123abcd.seg");
    writeFileSync(file, "planted");
    changeOwner(file, skip);
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual(["ours"]);
    expect(troubles.join("\n")).toMatch(
      /spoolRefused: .*00000009-0123abcd\.seg does not belong to this user/,
    );
  });

  test("a link in place of a writer directory is not followed", async () => {
    writeAndClose("elsewhere");
    const [writerDirectory = ""] = spoolEntries();
    renameSync(join(testSpool.folder, writerDirectory), join(elsewhere, writerDirectory));
    symlinkSync(join(elsewhere, writerDirectory), join(testSpool.folder, writerDirectory));
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual([]);
    expect(troubles.join("\n")).toMatch(/spoolRefused: .*does not belong to this user/);
  });

  test("a link instead of a segment is not followed", async () => {
    writeAndClose("ours");
    const [writerDirectory = ""] = spoolEntries();
    writeFileSync(join(elsewhere, "private"), "private");
    symlinkSync(
      join(elsewhere, "private"),
      join(testSpool.folder, writerDirectory, "00000009-0123abcd.seg"),
    );
    const { bodies, troubles } = await recoverSpool();
    expect(bodies).toEqual(["ours"]);
    expect(troubles.join("\n")).toMatch(/spoolRefused: .*does not belong to this user/);
  });

  test("a link instead of the folder of dead letters is not followed", () => {
    symlinkSync(elsewhere, join(testSpool.folder, "dead"));
    const troubles: string[] = [];
    const letters = new DeadLetters({
      folder: testSpool.folder,
      quotaBytes: 100_000,
      onFault: (kind, message) => troubles.push(`${kind}: ${message}`),
    });
    letters.write(Buffer.from("secret"), 1, { at: 0, refused: [] });
    letters.close();
    expect(troubles.join("\n")).toMatch(/spoolUnwritable: .*dead is a link/);
  });
});

test("folders are created with mode 0700 and files with 0600, whatever the umask; a link to the folder is followed", () => {
  const folder = join(testSpool.folder, "made");
  mkdirSync(join(elsewhere, "target"), { mode: 0o700 });
  const old = process.umask(0);
  try {
    leaveBehindIn(folder);
    symlinkSync(join(elsewhere, "target"), join(testSpool.folder, "link"));
    leaveBehindIn(join(testSpool.folder, "link"));
  } finally {
    process.umask(old);
  }
  expect(modesIn(folder)).toEqual(["700", "700", "600"]);
  expect(modesIn(join(elsewhere, "target"))).toEqual(["700", "700", "600"]);
});

function leaveBehindIn(folder: string): void {
  const { spool } = openSpool({ folder });
  appendBodies(spool, "one");
  spool.close();
}

/** The permissions of the folder, its writer directory and the file in it. */
function modesIn(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  return ["", ...paths].map((path) =>
    (statSync(join(folder, path)).mode & 0o777).toString(8).padStart(3, "0"),
  );
}
