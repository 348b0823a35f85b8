import { beforeEach, expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { maxPriceRows, PriceReader, PriceWriter } from "../price-repository.ts";
import { priceQueries } from "../price-queries.ts";
import type { PriceRow } from "../price-table.ts";

const row = (model: string, rest: Partial<PriceRow> = {}): PriceRow => ({
  model,
  provider: null,
  tier: null,
  fromMicros: 0,
  prices: { input: 1 },
  ...rest,
});

describeRepositories({ priceQueries }, (fixture) => {
  let writer: PriceWriter;
  let reader: PriceReader;
  let changes = 0;
  beforeEach(() => {
    changes = 0;
    reader = new PriceReader(fixture.db);
    writer = new PriceWriter(fixture.db, {
      runs: {
        recomputeSome: (_tenantId, progress) => ({
          ...progress,
          position: progress.position + 1,
          last: 2,
          isDone: progress.position === 1,
        }),
      },
      onChange: () => {
        changes += 1;
      },
    });
  });

  const set = (rows: readonly PriceRow[], replacesTable = false) =>
    fixture.write(() => writer.set(tenantId, { rows, replacesTable }));

  test("a row replaces the one with the same model, provider, tier and time, and no other", async () => {
    const tiered = { base: 1, tiers: [{ start: 5, price: 2 }] };
    await set([row("b"), row("a", { provider: "p", tier: "batch", fromMicros: 5 }), row("a")]);
    await set([row("b", { prices: { input: tiered, output: 3 } })]);
    expect(await reader.list(tenantId)).toEqual([
      row("a"),
      row("a", { provider: "p", tier: "batch", fromMicros: 5 }),
      row("b", { prices: { input: tiered, output: 3 } }),
    ]);
    expect(await reader.list(otherId)).toEqual([]);
    expect(changes).toBe(2);
  });

  test("the whole table can be replaced", async () => {
    await set([row("a"), row("b")]);
    await set([row("c")], true);
    expect(await reader.list(tenantId)).toEqual([row("c")]);
  });

  test("a row is removed by all that identifies it", async () => {
    await set([row("a"), row("a", { tier: "batch" })]);
    const remove = (key: PriceRow, owner = tenantId) =>
      fixture.write(() => writer.remove(owner, key));
    await expect(remove(row("a", { provider: "p" }))).rejects.toThrow(/Price not found/);
    await expect(remove(row("a"), otherId)).rejects.toThrow(/Price not found/);
    await remove(row("a"));
    expect(await reader.list(tenantId)).toEqual([row("a", { tier: "batch" })]);
  });

  test("a table has a maximum number of rows, and is unchanged by a change that exceeds it", async () => {
    await set([row("x")]);
    const rows = Array.from({ length: maxPriceRows }, (_, index) => row(`m${index}`));
    await expect(set(rows)).rejects.toThrow(/would have 1001 rows, but at most 1000 are allowed/);
    expect(await reader.list(tenantId)).toEqual([row("x")]);
  });

  test("the progress of a recomputation is stored until it is done or prices change", async () => {
    const recompute = (mode: "restart" | "resume" | "continue") =>
      fixture.write(() => writer.recompute(tenantId, mode));
    expect(await recompute("resume")).toMatchObject({ position: 1, isDone: false });
    expect(await recompute("resume")).toMatchObject({ position: 2, isDone: true });
    expect(await recompute("continue")).toMatchObject({ position: 2, isDone: true });
    expect(await recompute("resume")).toMatchObject({ position: 1, isDone: false });
    expect(await recompute("restart")).toMatchObject({ position: 1, isDone: false });
    await set([row("a")]);
    expect(await recompute("continue")).toMatchObject({ position: 1, isDone: false });
  });
});
