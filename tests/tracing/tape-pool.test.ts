import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TapePool } from "../../src/tracing/tape/tape.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const tapeBytes = 4_096;
const limit = 2;

const take = (pool: TapePool, count: number): readonly Tape[] =>
  Array.from({ length: count }, () => pool.take(0));

/** Uses `count` tapes at the same time. */
function use(pool: TapePool, count: number): ReadonlySet<Tape> {
  const tapes = take(pool, count);
  tapes.forEach((tape) => pool.release(tape));
  return new Set(tapes);
}

const created = (tapes: ReadonlySet<Tape>, before: ReadonlySet<Tape>): number =>
  [...tapes].filter((tape) => !before.has(tape)).length;

test("continuous traffic reuses tapes, also more than are kept permanently", () => {
  const pool = new TapePool(tapeBytes, limit);
  const first = use(pool, 9);
  expect(first.size).toBe(9);
  for (let round = 0; round < 20; round++) {
    vi.advanceTimersByTime(300);
    expect(created(use(pool, 9), first)).toBe(0);
  }
});

test("tapes that are unused for two seconds are released, except those that are kept permanently", () => {
  const pool = new TapePool(tapeBytes, limit);
  const first = use(pool, 9);
  vi.advanceTimersByTime(2_000);
  expect(created(use(pool, 9), first)).toBe(7);
  vi.advanceTimersByTime(2_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("less traffic keeps what it needs", () => {
  const pool = new TapePool(tapeBytes, limit);
  const first = use(pool, 9);
  for (let round = 0; round < 10; round++) {
    vi.advanceTimersByTime(300);
    expect(created(use(pool, 5), first)).toBe(0);
  }
  expect(created(use(pool, 9), first)).toBe(4);
});

test("tapes of another size, and those of a spool, are not reused", () => {
  const pool = new TapePool(tapeBytes, limit);
  const large = pool.take(tapeBytes + 1);
  pool.release(large);
  const adopted = pool.take(0);
  adopted.isReplayed = true;
  pool.release(adopted);
  expect([large, adopted]).not.toContain(pool.take(0));
});

test("a tape that is returned to the pool is empty", () => {
  const pool = new TapePool(tapeBytes, limit);
  const tape = pool.take(0);
  tape.usedBytes = 12;
  tape.records = 1;
  tape.cutAt = 5;
  pool.release(tape);
  expect(pool.take(0)).toMatchObject({ usedBytes: 0, records: 0, cutAt: 0, journal: undefined });
});
