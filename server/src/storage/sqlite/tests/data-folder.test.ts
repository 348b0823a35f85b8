import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../../dist/store/sqlite-store.js";
import { prepareFolder } from "../folder.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

const isWindows = process.platform === "win32";

const rightsOf = async (path: string): Promise<string> =>
  ((await stat(path)).mode & 0o777).toString(8);

test.skipIf(isWindows)(
  "only the owner can access the data folder and its files, whatever their mode was before",
  async () => {
    const folder = join(await temporaryFolder(), "made", "data");
    const first = await openSqliteStore(folder);
    await new StoreFixture(first).send({ post: [wireRun()] });
    expect(await rightsOf(folder)).toBe("700");
    const names = await readdir(folder);
    expect(names).toContain("millrace.db-wal");
    for (const name of names) {
      expect([name, await rightsOf(join(folder, name))]).toEqual([name, "600"]);
    }
    await first.close();
    // The modes that earlier versions of the server used.
    await chmod(folder, 0o755);
    await chmod(join(folder, "millrace.db"), 0o644);
    const second = await openSqliteStore(folder);
    await new StoreFixture(second).send({ post: [wireRun()] });
    expect(await rightsOf(folder)).toBe("700");
    for (const name of await readdir(folder)) {
      expect([name, await rightsOf(join(folder, name))]).toEqual([name, "600"]);
    }
    await second.close();
  },
);

test.skipIf(isWindows)(
  "the mode of a folder with files of other programs stays unchanged, with a warning",
  async () => {
    const folder = join(await temporaryFolder(), "shared");
    await mkdir(folder, { mode: 0o755 });
    await chmod(folder, 0o755);
    await writeFile(join(folder, "letter.txt"), "");
    const warned = new Promise<Error>((resolve) => {
      process.once("warning", resolve);
    });
    expect(prepareFolder(folder)).toBe(folder);
    expect((await warned).message).toContain('contains "letter.txt" besides the server\'s files');
    expect(await rightsOf(folder)).toBe("755");
  },
);
