import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { retentionQueries } from "../retention-queries.ts";
import { RetentionRules } from "../retention-rules.ts";
import { RetentionWriter } from "../retention-writer.ts";
import {
  describeRepositories,
  otherId,
  tenantId,
} from "../../../../tests/support/repository-fixture.ts";

describeRepositories({ retentionQueries }, (fixture) => {
  test("retention rules apply to the projects of their tenant, and are replaced and removed", async () => {
    const day = 86_400_000_000;
    const [first, second, foreign] = [randomUUID(), randomUUID(), randomUUID()].toSorted();
    await fixture.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES
      ('${first}', '${tenantId}', '"a"', 1), ('${second}', '${tenantId}', '"b"', 1),
      ('${foreign}', '${otherId}', '"a"', 1)`);
    const deletions: unknown[][] = [];
    let runsLeft = 0;
    let textsLeft = 0;
    let valuesLeft = 0;
    const weeks: unknown[] = [];
    let removedLeft: number | undefined;
    const writer = new RetentionWriter(fixture.db, {
      runs: {
        deleteSome: (...args) => {
          deletions.push(args);
          return runsLeft;
        },
      },
      sharedTexts: { deleteUnused: () => textsLeft },
      values: { deleteSome: async () => valuesLeft },
      weeks: {
        removeWeek: async (findExpiry, isNewSweep) => {
          weeks.push([
            isNewSweep,
            await findExpiry(tenantId, first ?? ""),
            await findExpiry(tenantId, second ?? ""),
            await findExpiry(otherId, foreign ?? ""),
          ]);
          return weeks.length === 1;
        },
        deleteRemoved: async () => removedLeft,
      },
    });
    const rules = (tenant = tenantId) => new RetentionRules(fixture.db).list(tenant);
    const set = (projectId: string | null, days: number | null) =>
      fixture.write(() => writer.set(tenantId, { projectId, days }));
    const sweep = async (from: string | null = null) => {
      const step = await fixture.write(() => writer.sweep(100 * day, from));
      return [step, deletions.splice(0).map(([, project, before]) => [project, before])];
    };
    const end = { deleted: 0, next: null };
    await set(first ?? "", null);
    expect(await sweep()).toEqual([end, []]);
    // Data that belonged to deleted runs is deleted even if there are no rules.
    removedLeft = 0;
    expect(await sweep()).toEqual([{ deleted: 0, next: "" }, []]);
    removedLeft = 4;
    expect(await sweep(second)).toEqual([{ deleted: 4, next: second }, []]);
    removedLeft = undefined;
    valuesLeft = 5;
    expect(await sweep()).toEqual([{ deleted: 0, next: "" }, []]);
    valuesLeft = 0;
    expect(weeks).toEqual([]);
    await set(null, 7);
    await set(second ?? "", 5);
    await set(second ?? "", 30);
    await expect(set(foreign ?? "", 1)).rejects.toMatchObject({ status: 404 });
    expect(await rules()).toEqual([
      { projectId: null, days: 7 },
      { projectId: first, days: null },
      { projectId: second, days: 30 },
    ]);
    expect(await rules(otherId)).toEqual([]);
    // A week is removed before runs are deleted individually.
    expect(await sweep()).toEqual([{ deleted: 0, next: "" }, []]);
    expect(await sweep()).toEqual([end, [[second, 70 * day]]]);
    expect(weeks).toEqual([
      [true, null, 70 * day, null],
      [true, null, 70 * day, null],
    ]);
    // Values are examined once no run is left to delete.
    valuesLeft = 5;
    expect(await sweep()).toEqual([{ deleted: 0, next: `${foreign}!` }, [[second, 70 * day]]]);
    expect(await sweep(`${foreign}!`)).toEqual([{ deleted: 0, next: `${foreign}!` }, []]);
    valuesLeft = 0;
    expect(await sweep(`${foreign}!`)).toEqual([end, []]);
    expect(weeks.at(-1)).toEqual([false, null, 70 * day, null]);
    await fixture.write(() => writer.clear(tenantId, first ?? ""));
    runsLeft = 3;
    expect(await sweep()).toEqual([{ deleted: 3, next: first }, [[first, 93 * day]]]);
    expect(await sweep(second)).toEqual([{ deleted: 3, next: second }, [[second, 70 * day]]]);
    // A step that deletes texts deletes no runs, and the next one continues where it began.
    textsLeft = 1;
    expect(await sweep(second)).toEqual([{ deleted: 0, next: second }, []]);
    expect(await sweep()).toEqual([{ deleted: 0, next: "" }, []]);
    textsLeft = 0;
    await fixture.write(() => writer.clear(tenantId, null));
    expect(await rules()).toEqual([{ projectId: second, days: 30 }]);
  });
});
