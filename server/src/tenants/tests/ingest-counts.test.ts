import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { IngestCountRepository, ingestCountQueries } from "../ingest-counts.ts";

describeRepositories({ ingestCountQueries }, (fixture) => {
  test("bytes are added by tenant and day, and earlier days are removed", async () => {
    const counts = new IngestCountRepository(fixture.db);
    expect(await counts.read(tenantId, "2026-11-26")).toBe(0);
    expect(await fixture.write(() => counts.add(tenantId, "2026-11-26", 1e12))).toBe(1e12);
    expect(await fixture.write(() => counts.add(tenantId, "2026-11-26", 5))).toBe(1e12 + 5);
    expect(await counts.read(tenantId, "2026-11-26")).toBe(1e12 + 5);
    expect(await counts.read(otherId, "2026-11-26")).toBe(0);
    expect(await fixture.write(() => counts.add(tenantId, "2026-11-27", 7))).toBe(7);
    expect(await counts.read(tenantId, "2026-11-26")).toBe(0);
  });
});
