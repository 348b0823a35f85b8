import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { IngestCountRepository, ingestCountQueries } from "../ingest-counts.ts";

describeRepositories({ ingestCountQueries }, (fixture) => {
  const [day, nextDay] = ["2026-11-26", "2026-11-27"];

  test("the bytes of all servers are added up by tenant and day, and earlier days are removed", async () => {
    const counts = new IngestCountRepository(fixture.db);
    const set = (server: string, bytes: number, on = day): Promise<number> =>
      fixture.write(() => counts.set(tenantId, on, { server, bytes }));
    expect(await counts.read(tenantId, day)).toBe(0);
    expect(await set("a", 1e12)).toBe(1e12);
    expect(await set("b", 5)).toBe(1e12 + 5);
    expect(await counts.read(tenantId, day)).toBe(1e12 + 5);
    expect(await counts.read(otherId, day)).toBe(0);
    expect(await counts.read(tenantId, nextDay)).toBe(0);
    expect(await set("a", 7, nextDay)).toBe(7);
    expect(await counts.read(tenantId, day)).toBe(0);
  });

  test("a count that is set again counts once, and replaces the earlier one", async () => {
    const counts = new IngestCountRepository(fixture.db);
    for (const bytes of [10, 10, 30]) {
      const count = { server: "c", bytes };
      expect(await fixture.write(() => counts.set(otherId, day, count))).toBe(bytes);
    }
  });

  test("what earlier versions have counted on the same day counts, too", async () => {
    const counts = new IngestCountRepository(fixture.db);
    const tenant = "earlier";
    await fixture.write(() =>
      fixture.db.run(ingestCountQueries.set, { tenant_id: tenant, day, bytes: 100 }),
    );
    const count = { server: "d", bytes: 1 };
    expect(await fixture.write(() => counts.set(tenant, day, count))).toBe(101);
    expect(await fixture.write(() => counts.set(tenant, nextDay, count))).toBe(1);
  });
});
