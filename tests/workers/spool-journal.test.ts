import * as fileSystem from "node:fs";
import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import {
  appendBodies,
  spoolEntries,
  openSpool,
  testSpool,
  recoverSpool,
  segmentPaths,
  takeAll,
  useSpoolFolders,
} from "../support/spooling.ts";

useSpoolFolders();

const write = (journal: { append: (record: Uint8Array) => void }, ...texts: readonly string[]) => {
  for (const text of texts) {
    journal.append(Buffer.from(text));
  }
};

test("records are on disk when the call returns, and are one tape when they are read", async () => {
  const { spool } = openSpool();
  const journal = spool.createJournal();
  write(journal, "one,", "two,", "three");
  expect(segmentPaths()).toHaveLength(1);
  journal.seal();
  expect(journal.keepSpooled(3)).toBe(true);
  await expect(spool.readNextTape()).resolves.toMatchObject({ recordCount: 3, isOwn: true });
  expect(await takeAll(spool)).toEqual(["one,two,three"]);
  spool.close();
  expect(spoolEntries()).toEqual([]);
});

test("records of many megabytes are read as tapes of about one megabyte", async () => {
  const { spool } = openSpool();
  const journal = spool.createJournal();
  write(journal, ...Array.from({ length: 7 }, (_, i) => String(i).repeat(400_000)));
  journal.keepSpooled(7);
  expect((await takeAll(spool)).map((body) => body.length)).toEqual([
    1_200_000, 1_200_000, 400_000,
  ]);
});

test("delivered records are removed, files and bytes", () => {
  const { spool } = openSpool();
  const journal = spool.createJournal();
  write(journal, "one");
  expect(spool.bytes).toBe(24 + 3);
  journal.discard();
  expect(spool.bytes).toBe(0);
  expect(segmentPaths()).toEqual([]);
});

test("an incomplete journal is not kept, and neither is one whose file was removed", () => {
  const { spool } = openSpool();
  const journal = spool.createJournal();
  expect(journal.keepSpooled(0)).toBe(false);
  write(journal, "one", "two");
  expect(journal.keepSpooled(1)).toBe(false);
  rmSync(testSpool.folder, { recursive: true });
  expect(journal.keepSpooled(2)).toBe(false);
});

test("after a failed write a journal is abandoned and its spool continues, with one warning", async () => {
  let full = true;
  const disk = {
    ...fileSystem,
    writevSync(fd: number, parts: readonly NodeJS.ArrayBufferView[], at?: number | null): number {
      if (full) {
        throw new Error("ENOSPC: no space left on device");
      }
      return fileSystem.writevSync(fd, parts, at ?? undefined);
    },
  };
  const { spool, troubles } = openSpool({ fileSystem: disk });
  const journal = spool.createJournal();
  write(journal, "one", "two");
  full = false;
  write(journal, "three");
  expect(journal.keepSpooled(3)).toBe(false);
  journal.discard();
  expect(troubles).toEqual(["spoolUnwritable: ENOSPC: no space left on device"]);
  appendBodies(spool, "four");
  expect(await takeAll(spool)).toEqual(["four"]);
});

test("nothing is written after a journal is sealed, because its file may be closed and its descriptor reused", async () => {
  const { spool, troubles } = openSpool({ syncMs: 0 });
  const journal = spool.createJournal();
  write(journal, "one");
  journal.seal();
  const other = spool.createJournal();
  write(other, "another file");
  write(journal, "two");
  expect(journal.isComplete).toBe(false);
  expect(journal.keepSpooled(2)).toBe(false);
  expect(troubles).toEqual([expect.stringMatching(/^spoolUnwritable: .*sealed/)]);
  expect(other.keepSpooled(1)).toBe(true);
  expect(await takeAll(spool)).toEqual(["another file"]);
});

test("the quota removes spooled tapes before journals of tapes in flight", async () => {
  const { spool, losses, troubles } = openSpool({ quotaBytes: 1_000 });
  appendBodies(spool, "x".repeat(500));
  const journal = spool.createJournal();
  write(journal, "y".repeat(400), "z".repeat(400));
  expect(losses).toEqual([{ cause: "evicted", ownRecordCount: 1, inheritedRecordCount: 0 }]);
  write(journal, "w".repeat(400));
  expect(troubles).toEqual([expect.stringMatching(/^spoolUnwritable: .*quota/)]);
});

test("a journal that its process did not close is read by the next process", async () => {
  const { spool } = openSpool();
  write(spool.createJournal(), "one,", "two");
  spool.close();
  expect((await recoverSpool()).bodies).toEqual(["one,two"]);
});
