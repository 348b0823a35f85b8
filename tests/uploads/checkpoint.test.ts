import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { CheckpointFile } from "../../src/uploads/checkpoint.ts";

const block = 4_096;
const options = { target: "examples of dataset 1", onFault: (): void => undefined };

function createFolder(): { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "millrace-checkpoint-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, path: join(folder, "checkpoint.json") };
}

const reachedAt = (rows: number) => ({
  rows,
  first: { row: 1, digest: "first" },
  last: { row: rows, digest: `row ${rows}` },
});

/** Writes a checkpoint in which both slots are used, with 10 rows in the first and 20 in the second, as a killed upload leaves it. */
async function killed(path: string): Promise<void> {
  const file = await CheckpointFile.open({ path, source: "a" }, options);
  file.recordPosition(reachedAt(10));
  const hasRow = (rows: number): boolean => {
    try {
      return readFileSync(path, "utf8").includes(`"rows":${rows},`);
    } catch {
      return false;
    }
  };
  await expect.poll(() => hasRow(10)).toBe(true);
  await expect
    .poll(() => {
      file.recordPosition(reachedAt(20));
      return hasRow(20);
    })
    .toBe(true);
}

const rowsIn = async (path: string): Promise<number | undefined> =>
  (await CheckpointFile.open({ path, source: "a" }, options)).position?.rows;

describe("a checkpoint's file", () => {
  test("of a killed upload contains two records, of which the later one counts", async () => {
    const { path } = createFolder();
    await killed(path);
    expect(await rowsIn(path)).toBe(20);
  });

  test.each([
    ["first", 0, 20],
    ["second", block, 10],
  ])("with a damaged %s slot uses the other one", async (_which, at, rows) => {
    const { path } = createFolder();
    await killed(path);
    const bytes = readFileSync(path);
    bytes.fill("x", at, at + 40);
    writeFileSync(path, bytes);
    expect(await rowsIn(path)).toBe(rows);
  });

  test("that was created but never written starts from the beginning", async () => {
    const { path } = createFolder();
    writeFileSync(path, "");
    expect(await rowsIn(path)).toBeUndefined();
    writeFileSync(path, Buffer.alloc(2 * block));
    expect(await rowsIn(path)).toBeUndefined();
  });

  test("contains one record if the last one was written before the end", async () => {
    const { path } = createFolder();
    await killed(path);
    const next = await CheckpointFile.open({ path, source: "a" }, options);
    next.recordPosition(reachedAt(30));
    await expect.poll(() => readFileSync(path, "utf8")).toContain('"rows":30,');
    await next.flush();
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ rows: 30 });
  });

  test("is continued in the slot without the latest record", async () => {
    const { path } = createFolder();
    await killed(path);
    const next = await CheckpointFile.open({ path, source: "a" }, options);
    next.recordPosition(reachedAt(30));
    await expect.poll(() => readFileSync(path, "utf8")).toContain('"rows":30,');
    const text = readFileSync(path, "utf8");
    expect(text.indexOf('"rows":30,')).toBeLessThan(block);
    expect(text.indexOf('"rows":20,')).toBeGreaterThan(block);
    await next.flush();
  });

  test("has one record after a clean end, and no other files next to it", async () => {
    const { folder, path } = createFolder();
    const file = await CheckpointFile.open({ path, source: "a" }, options);
    const seen = new Set<string>();
    for (let rows = 1; rows <= 50; rows += 1) {
      file.recordPosition(reachedAt(rows));
      const flushed = file.flush();
      readdirSync(folder).forEach((name) => seen.add(name));
      await nextTurn();
      readdirSync(folder).forEach((name) => seen.add(name));
      await flushed;
    }
    expect([...seen]).toEqual(["checkpoint.json"]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ rows: 50 });
    expect(readFileSync(path)).toHaveLength(block);
  });
});
