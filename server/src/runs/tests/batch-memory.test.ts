import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
// The writer thread is started from its built file, so the test uses the built store.
import { parseBatch } from "../../../dist/runs/ingest/parse-batch.js";
import { batchMemory } from "../../../dist/runs/batch-memory.js";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { BatchBuilder } from "../ingest/batch-builder.ts";
import { serverLimits } from "../../model/options.ts";
import { BatchMemory } from "../batch-memory.ts";
import { databaseFileName } from "../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const mebibyte = 1_048_576;

describe("memory of batches", () => {
  afterEach(() => void vi.useRealTimers());

  test("is reused for a request of the same or a somewhat smaller size", () => {
    const memory = new BatchMemory();
    const first = memory.acquire(mebibyte).buffer;
    memory.release(first);
    expect(memory.acquire(mebibyte - 100_000).buffer).toBe(first);
    expect(memory.freeBytes).toBe(0);
    expect(memory.acquire(mebibyte).buffer).not.toBe(first);
  });

  test("has exactly the requested length, and no buffer is handed out twice", () => {
    const memory = new BatchMemory();
    const sizes = [0, 1, 65_535, 65_536, 100_000, mebibyte, mebibyte + 1, 9 * mebibyte];
    const acquired = [...sizes, ...sizes].map((size) => ({ size, block: memory.acquire(size) }));
    for (const { size, block } of acquired) {
      expect(block.length).toBeGreaterThanOrEqual(size);
      expect(block.buffer.byteLength).toBe(block.length);
    }
    expect(new Set(acquired.map(({ block }) => block.buffer)).size).toBe(acquired.length);
  });

  test("that is much larger than requested stays available for others", () => {
    const memory = new BatchMemory();
    memory.release(new ArrayBuffer(4 * mebibyte));
    expect(memory.acquire(mebibyte).length).toBeLessThan(2 * mebibyte);
    expect(memory.freeBytes).toBe(4 * mebibyte);
  });

  test("is cached up to 16 MiB, the most recently used first, but no buffers above 8 MiB or below 64 KiB", () => {
    const memory = new BatchMemory();
    const buffers = Array.from({ length: 20 }, () => new ArrayBuffer(mebibyte));
    buffers.forEach((block) => memory.release(block));
    memory.release(new ArrayBuffer(8 * mebibyte + 1));
    memory.release(new ArrayBuffer(65_535));
    expect(memory.freeBytes).toBe(16 * mebibyte);
    expect(memory.acquire(mebibyte).buffer).toBe(buffers.at(-1));
    memory.release(new ArrayBuffer(8 * mebibyte));
    expect(memory.freeBytes).toBeLessThanOrEqual(16 * mebibyte);
    expect(memory.acquire(8 * mebibyte).length).toBe(8 * mebibyte);
  });

  test("that is unused for ten seconds is freed, and memory in use stays", () => {
    vi.useFakeTimers();
    const memory = new BatchMemory();
    memory.release(new ArrayBuffer(mebibyte));
    memory.release(new ArrayBuffer(mebibyte));
    for (let second = 0; second < 30; second += 1) {
      vi.advanceTimersByTime(1_000);
      memory.release(memory.acquire(mebibyte).buffer);
    }
    expect(memory.freeBytes).toBe(mebibyte);
    vi.advanceTimersByTime(10_000);
    expect(memory.freeBytes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the memory of a request", () => {
  const post = (texts: readonly string[]) =>
    texts.map((text) => ({ ...wireRun(), inputs: { text } }));
  const batchOf = (runs: readonly unknown[]) =>
    parseBatch(Buffer.from(JSON.stringify({ post: runs }))).batch;
  /** Acquires every pooled buffer. Other tests of this process may have left buffers of any size. */
  const drain = (): void => {
    for (let bytes = 65_536; batchMemory.freeBytes > 0 && bytes <= 8 * mebibyte;) {
      const before = batchMemory.freeBytes;
      batchMemory.acquire(bytes);
      bytes = batchMemory.freeBytes < before ? bytes : bytes * 2;
    }
    expect(batchMemory.freeBytes).toBe(0);
  };

  test.each([1e9, 5e9, 1e14])(
    "has at most the maximum body size when %d bytes are announced",
    (bytes) => {
      const { bodies } = new BatchBuilder(bytes).build().batch;
      expect(bodies.buffer.byteLength).toBeLessThanOrEqual(serverLimits.bodyBytesMax);
    },
  );

  test("is returned once the batch is stored, and a smaller batch that reuses it is read back unchanged", async () => {
    drain();
    const store = await openSqliteStore(await temporaryFolder());
    const large = post(Array.from({ length: 90 }, (_, at) => `${at} `.padEnd(10_000, "large ")));
    const small = post(Array.from({ length: 90 }, (_, at) => `${at} `.padEnd(7_000, "small ")));
    for (const runs of [large, small]) {
      const batch = batchOf(runs);
      expect(batchMemory.freeBytes).toBe(0);
      const { buffer } = batch.bodies;
      await store.ingest(store.defaultTenantId, batch);
      expect(buffer.byteLength).toBe(0);
      expect(batchMemory.freeBytes).toBe(mebibyte);
    }
    for (const { id, inputs } of [...large, ...small]) {
      const found = await store.read.runs.find(store.defaultTenantId, id);
      expect(JSON.parse(Buffer.from(found?.bodies[0] ?? []).toString())).toEqual({ inputs });
    }
    await store.close();
  });

  test("is returned after a failed write too, and the next request is stored", async () => {
    drain();
    const folder = await temporaryFolder();
    const store = await openSqliteStore(folder);
    const beside = openDatabase(join(folder, databaseFileName));
    beside.exec(
      "CREATE TRIGGER refuse BEFORE INSERT ON payloads BEGIN SELECT RAISE(ABORT, 'not today'); END",
    );
    const runs = post(["x".repeat(950_000)]);
    await expect(store.ingest(store.defaultTenantId, batchOf(runs))).rejects.toThrow("not today");
    expect(batchMemory.freeBytes).toBe(mebibyte);
    beside.exec("DROP TRIGGER refuse");
    beside.close();
    const result = await store.ingest(store.defaultTenantId, batchOf(runs));
    expect(result).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(batchMemory.freeBytes).toBe(mebibyte);
    await store.close();
  });
});
