import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { shareQueries } from "../share-queries.ts";
import { ShareReader } from "../share-reader.ts";
import { ShareWriter } from "../share-writer.ts";
import { digestToken } from "../../storage/share-token.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ shareQueries }, (fixture) => {
  describe("shares", () => {
    const sealer = TokenKeys.createRandom();
    const createReader = (keys = sealer) => new ShareReader(fixture.db, keys);
    const createWriter = (keys = sealer) => new ShareWriter(fixture.db, keys);
    const insertRoot = (projectId: string, id: string = randomUUID()) =>
      fixture.insertRun(projectId, { id, traceId: id.slice(0, 36) });
    const stranger = TokenKeys.createRandom();
    const [missing, hidden] = [{ status: 404 }, { status: 409 }];

    test("of a single run are found by their token", async () => {
      const runId = await fixture.insertRun(await fixture.insertProject());
      const token = randomUUID();
      await fixture.exec(`INSERT INTO shares (digest, sealed, trace_id, id)
        VALUES ('${digestToken(token)}', 'x', 'trace', '${runId}')`);
      expect(await createReader().find(token)).toEqual({ kind: "run", tenantId, runId });
      expect(await createReader().find(randomUUID())).toBeUndefined();
    });

    test("of a trace keep their token, and give access while the run is its root", async () => {
      const projectId = await fixture.insertProject();
      const id = await insertRoot(projectId);
      const childId = await fixture.insertRun(projectId, { traceId: id, parentId: id });
      // Another tenant's trace with the same id.
      const longId = await insertRoot(await fixture.insertProject(otherId), `${id}/${otherId}`);
      const share = (rootId: string, tenant = tenantId, keys = sealer) =>
        fixture.write(() => createWriter(keys).shareTrace(tenant, rootId));
      const token = await share(id);
      const otherToken = await share(longId, otherId);
      expect(await share(id)).toBe(token);
      await expect(share(id, otherId)).rejects.toMatchObject(missing);
      await expect(share(childId)).rejects.toMatchObject(missing);
      await expect(share(id, tenantId, stranger)).rejects.toMatchObject(hidden);
      expect(await createReader().find(token)).toEqual({ kind: "trace", tenantId, traceId: id });
      expect(await createReader().find(otherToken)).toMatchObject({ tenantId: otherId });
      const list = (tenant: string, ids: readonly string[], keys = sealer) =>
        createReader(keys).findTraceTokens(tenant, ids);
      expect(await list(tenantId, [id, randomUUID()])).toEqual(new Map([[id, token]]));
      expect(await list(tenantId, [longId])).toEqual(new Map());
      expect(await list(otherId, [id])).toEqual(new Map());
      expect(await list(otherId, [longId])).toEqual(new Map([[longId, otherToken]]));
      expect(await list(tenantId, [id], stranger)).toEqual(new Map([[id, { isHidden: true }]]));
      await fixture.exec(`UPDATE runs SET parent_run_id = 'x' WHERE id = '${id}'`);
      expect(await createReader().find(token)).toBeUndefined();
      expect(await list(tenantId, [id])).toEqual(new Map());
      await fixture.exec(`UPDATE runs SET parent_run_id = NULL WHERE id = '${id}'`);
      await fixture.write(() => createWriter().unshareTrace(otherId, id));
      expect(await createReader().find(token)).toBeDefined();
      await fixture.write(() => createWriter().unshareTrace(tenantId, id));
      expect(await createReader().find(token)).toBeUndefined();
    });

    test("of a thread keep their token until they are deleted", async () => {
      const projectId = await fixture.insertProject();
      const thread = { projectId, threadId: strangeText };
      const share = (tenant: string, keys = sealer) =>
        fixture.write(() => createWriter(keys).shareThread(tenant, thread));
      const token = await share(tenantId);
      expect(await share(tenantId)).toBe(token);
      await expect(share(otherId)).rejects.toMatchObject(missing);
      await expect(share(tenantId, stranger)).rejects.toMatchObject(hidden);
      const found = { kind: "thread", tenantId, ...thread };
      expect(await createReader().find(token)).toEqual(found);
      expect(await createReader().findThreadToken(tenantId, thread)).toBe(token);
      expect(await createReader().findThreadToken(otherId, thread)).toBeNull();
      const otherThread = { ...thread, threadId: "t" };
      expect(await createReader().findThreadToken(tenantId, otherThread)).toBeNull();
      expect(await createReader(stranger).findThreadToken(tenantId, thread)).toEqual({
        isHidden: true,
      });
      await fixture.write(() => createWriter().unshareThread(otherId, thread));
      expect(await createReader().find(token)).toEqual(found);
      await fixture.write(() => createWriter().unshareThread(tenantId, thread));
      expect(await createReader().find(token)).toBeUndefined();
    });
  });
});
