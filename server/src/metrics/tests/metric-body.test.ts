import { expect, test } from "vitest";
import { maxValues, MetricCounts, readBody } from "../metric-body.ts";
import { MetricCell } from "../metric-cell.ts";
import type { CellKey } from "../metric-body.ts";

const run = {
  hasError: true,
  latencyMicros: 1_500_000,
  firstTokenMicros: null,
  tokens: 3_000_000_000,
  cost: 0.1,
  traceTokens: 5,
  traceCost: 0.3,
  traceFirstTokenMicros: null,
};

/** The numbers of runs by value; the rare values are named "(other)". */
function countsOf(body: Uint8Array): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  readBody(body, ({ key, runs }) => {
    counts[key.kind === "value" ? key.value : `(${key.kind})`] = runs;
  });
  return counts;
}

const keyOf = (value: string): CellKey => ({ runClass: 2, kind: "value", value });

test("counts are the same after they were encoded and merged", () => {
  const counts = new MetricCounts();
  counts.findOrCreate(keyOf("größe \u202e")).add(run);
  counts.findOrCreate({ runClass: 0, kind: "none", value: "" }).add(run);
  const merged = new MetricCounts();
  merged.merge(counts.encode());
  merged.merge(counts.encode());
  const entries: unknown[] = [];
  readBody(merged.encode(), ({ key, addTo }) => {
    const cell = new MetricCell();
    addTo(cell);
    entries.push([key, cell.toValues("all")]);
  });
  const latency = { p50: expect.closeTo(1_500_000, -5) as unknown };
  const values = {
    runs: 2,
    errors: 2,
    tokens: 6_000_000_000,
    cost: 0.2,
    latency: expect.objectContaining(latency) as unknown,
    firstToken: { p50: null, p95: null, p99: null },
  };
  expect(entries).toEqual([
    [keyOf("größe \u202e"), values],
    [{ runClass: 0, kind: "none", value: "" }, values],
  ]);
});

test("a root without a first token has that of its trace, in the scope of traces only", () => {
  const counts = new MetricCounts();
  const root = counts.findOrCreate({ runClass: 1, kind: "value", value: "ann" });
  root.add({ ...run, firstTokenMicros: 200_000, traceFirstTokenMicros: null });
  root.add({ ...run, traceFirstTokenMicros: 3_000_000 });
  readBody(counts.encode(), ({ addTo }) => {
    const cell = new MetricCell();
    addTo(cell);
    const close = (micros: number): unknown => expect.closeTo(micros, -Math.log10(micros * 0.04));
    expect(cell.toValues("all").firstToken).toEqual({
      p50: close(200_000),
      p95: close(200_000),
      p99: close(200_000),
    });
    expect(cell.toValues("traces").firstToken).toEqual({
      p50: close(200_000),
      p95: close(3_000_000),
      p99: close(3_000_000),
    });
  });
  expect.assertions(2);
});

test("a body without first tokens of traces, which an earlier version has stored, is read", () => {
  // Two runs with errors, 1.5 s, and a first token after 0.2 s, of traces with 10 tokens for $1.
  const body = Buffer.from(
    "0303616e6e022901000000000000000000000000000000000000000000002440000000000000f03f01eb020201b80201",
    "hex",
  );
  const merged = new MetricCounts();
  merged.merge(body);
  merged.merge(merged.encode());
  const firstToken = { p50: expect.closeTo(200_000, -4) as unknown };
  readBody(merged.encode(), ({ key, addTo }) => {
    const cell = new MetricCell();
    addTo(cell);
    expect([key.value, cell.toValues("traces")]).toMatchObject([
      "ann",
      { runs: 4, errors: 2, tokens: 20, cost: 2, firstToken },
    ]);
  });
  expect.assertions(1);
});

test("of too many values, those with the fewest runs are counted together", () => {
  const counts = new MetricCounts();
  for (let index = 0; index < maxValues + 10; index += 1) {
    for (let times = 0; times <= index; times += 1) {
      counts.findOrCreate(keyOf(`v${index}`)).add(run);
    }
  }
  const stored = countsOf(counts.encode());
  expect(Object.keys(stored)).toHaveLength(maxValues + 1);
  expect(stored["(other)"]).toBe(55);
  expect(stored[`v${maxValues + 9}`]).toBe(maxValues + 10);
});

test("a value of any length takes little space", () => {
  const counts = new MetricCounts();
  counts.findOrCreate(keyOf("x".repeat(5_000_000))).add(run);
  expect(counts.encode().length).toBeLessThan(100);
  expect(countsOf(counts.encode())).toEqual({ "(other)": 1 });
});
