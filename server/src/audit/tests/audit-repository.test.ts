import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import type { AuditEntry } from "../../model/audit-entry.ts";
import { openWriter } from "../../store/schema.ts";
import { auditQueries, AuditRepository } from "../audit-repository.ts";

const createEntry = (fields: Partial<AuditEntry> = {}): AuditEntry => ({
  id: randomUUID(),
  tenantId,
  atMicros: 1_000,
  actor: { kind: "key", id: "key-1", name: strangeText },
  address: "192.0.2.7",
  action: "createKey",
  target: strangeText,
  outcome: "succeeded",
  status: null,
  requestId: "r-1",
  ...fields,
});

describeRepositories({ auditQueries }, (fixture) => {
  test("entries are listed the latest first, in pages, and only those of the tenant", async () => {
    const audit = new AuditRepository(fixture.db);
    const entries = [1, 2, 2, 3].map((time, index) =>
      createEntry({ atMicros: time, id: `entry-${index}` }),
    );
    for (const entry of entries) {
      await audit.record(tenantId, entry);
    }
    await audit.record(otherId, createEntry({ tenantId: otherId }));
    const first = await audit.list(tenantId, { tenantId, limit: 2 });
    expect(first).toEqual([entries[3], entries[2]]);
    const after = { atMicros: 2, id: "entry-2" };
    expect(await audit.list(tenantId, { tenantId, limit: 5, after })).toEqual([
      entries[1],
      entries[0],
    ]);
    expect(await audit.list(tenantId, { tenantId: undefined, limit: 9 })).toHaveLength(5);
  });

  test("each filter selects its entries", async () => {
    const audit = new AuditRepository(fixture.db);
    const failed = createEntry({ outcome: "failed", status: 409, atMicros: 5 });
    const byCommand = createEntry({
      actor: { kind: "command", id: null, name: "ada" },
      address: null,
      requestId: null,
      atMicros: 9,
    });
    const revoked = createEntry({ action: "revokeKey", atMicros: 7 });
    for (const entry of [failed, byCommand, revoked]) {
      await audit.record(tenantId, entry);
    }
    const list = (filter: object) => audit.list(tenantId, { tenantId, limit: 9, ...filter });
    expect(await list({ outcome: "failed" })).toEqual([failed]);
    expect(await list({ action: "revokeKey" })).toEqual([revoked]);
    expect(await list({ actor: "command" })).toEqual([byCommand]);
    expect(await list({ actor: "key-1" })).toEqual([revoked, failed]);
    expect(await list({ fromMicros: 7, toMicros: 9 })).toEqual([revoked]);
  });

  test("an entry that is stored again is not changed, and expired entries are deleted", async () => {
    const audit = new AuditRepository(fixture.db);
    const entry = createEntry();
    await audit.record(tenantId, entry);
    await audit.record(tenantId, { ...entry, target: "another" });
    expect(await audit.list(tenantId, { tenantId, limit: 9 })).toEqual([entry]);
    expect(await audit.removeExpired(1_000)).toBe(0);
    expect(await audit.removeExpired(1_001)).toBe(1);
    expect(await audit.list(tenantId, { tenantId, limit: 9 })).toEqual([]);
  });
});

test("the database refuses to change an entry", () => {
  const db = openWriter(":memory:");
  db.exec(`INSERT INTO audit_entries VALUES ('t', 1, 'e', 'open', '', 'null', NULL, 'createKey', '""',
    'succeeded', NULL, NULL)`);
  expect(() => db.exec("UPDATE audit_entries SET actor = 'somebody else'")).toThrow(
    /can not be changed/,
  );
  db.close();
});
