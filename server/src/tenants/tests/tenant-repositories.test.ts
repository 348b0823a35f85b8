import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { tenantQueries } from "../tenant-queries.ts";
import { TenantReader } from "../tenant-reader.ts";
import { TenantWriter } from "../tenant-writer.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ tenantQueries }, (fixture) => {
  describe("tenants", () => {
    let reader: TenantReader;
    let writer: TenantWriter;
    beforeEach(() => {
      reader = new TenantReader(fixture.db);
      writer = new TenantWriter(fixture.db);
    });

    test("are created, found and listed; a handle belongs to one of them", async () => {
      const create = (handle: string | null) =>
        fixture.write(() => writer.create({ handle, displayName: strangeText }));
      const created = await create("acme");
      expect(created).toMatchObject({ handle: "acme", displayName: strangeText });
      expect(await reader.find(created.id)).toEqual(created);
      expect(await reader.findByHandle("acme")).toEqual(created);
      expect(await reader.find(randomUUID())).toBeUndefined();
      expect(await reader.findByHandle("none")).toBeUndefined();
      await expect(create("acme")).rejects.toMatchObject({ status: 409 });
      await expect(create("A b")).rejects.toMatchObject({ status: 422 });
      const nameless = await create(null);
      const setHandle = (id: string, handle: string) =>
        fixture.write(() => writer.setHandle(id, handle));
      expect(await setHandle(nameless.id, "set")).toEqual({ ...nameless, handle: "set" });
      expect(await setHandle(nameless.id, "set")).toEqual({ ...nameless, handle: "set" });
      await expect(setHandle(nameless.id, "mill")).rejects.toMatchObject({ status: 409 });
      await expect(setHandle(randomUUID(), "free")).rejects.toMatchObject({ status: 404 });
      const ids = (await reader.list()).map(({ id }) => id);
      expect(ids.slice(0, 2)).toEqual([tenantId, otherId]);
      expect(ids).toHaveLength(4);
    });

    test("have keys, which give access until they are revoked", async () => {
      const create = (tenant: string) =>
        fixture.write(() => writer.createKey(tenant, { name: strangeText }));
      await expect(create(randomUUID())).rejects.toMatchObject({ status: 404 });
      expect(await reader.hasKeys()).toBe(false);
      const { id, key } = await create(tenantId);
      const other = await create(otherId);
      expect(await reader.hasKeys()).toBe(true);
      const found = { name: strangeText, scopes: ["admin"] };
      expect(await reader.findByKey(key)).toEqual({ ...found, id, tenantId });
      expect(await reader.findByKey(other.key)).toEqual({
        ...found,
        id: other.id,
        tenantId: otherId,
      });
      const revoke = (keyId: string) => fixture.write(() => writer.revokeKey(keyId));
      const revoked = await revoke(id);
      expect(revoked).toMatchObject({ id, tenantId, name: strangeText, hint: key.slice(-4) });
      expect(revoked.revokedMicros).not.toBeNull();
      expect(await revoke(id)).toEqual(revoked);
      await expect(revoke(randomUUID())).rejects.toMatchObject({ status: 404 });
      expect(await reader.findByKey(key)).toBeUndefined();
      expect(await reader.listKeys(tenantId)).toEqual([revoked]);
      expect((await reader.listKeys()).map((listed) => listed.id).toSorted()).toEqual(
        [id, other.id].toSorted(),
      );
    });
  });
});
