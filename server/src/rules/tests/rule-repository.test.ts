import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { cursorQueries, ruleQueries, ruleRunQueries } from "../rule-queries.ts";
import { RuleRepository } from "../rule-repository.ts";
import { ruleLimits } from "../rule.ts";
import type { RootScan } from "../rule.ts";

const action = { kind: "queue" as const, queue_id: randomUUID() };
const draft = { name: strangeText, filter: 'eq(name, "x")', samplingRate: 0.5, action };
const emptyScan: Omit<RootScan, "ended"> = {
  toRow: 5,
  hasMore: false,
  opened: [],
  closed: [],
  expired: [],
};

describeRepositories({ ruleQueries, ruleRunQueries, cursorQueries }, (fixture) => {
  const create = async () => {
    const clock = { nowMicros: 1_000, latestRow: 7 };
    const rules = new RuleRepository(
      fixture.db,
      { latestRow: () => clock.latestRow },
      () => clock.nowMicros,
    );
    const projectId = await fixture.insertProject();
    const rule = await rules.create(tenantId, projectId, draft);
    const match = async (...runIds: readonly string[]): Promise<void> => {
      await rules.advance(emptyScan, [{ tenantId, ruleId: rule.id, runIds }]);
    };
    const result = (runId: string, error: string | null = null, nextMicros: number | null = null) =>
      rules.record([{ tenantId, ruleId: rule.id, runId, error, nextMicros }]);
    return { rules, projectId, rule, clock, match, result };
  };

  test("a rule is created, changed, listed and deleted, by its tenant only", async () => {
    const { rules, projectId, rule } = await create();
    expect(rule).toMatchObject({ ...draft, isEnabled: true, matched: 0, past: null });
    expect(await rules.list(tenantId, projectId)).toEqual([rule]);
    await expect(rules.list(otherId, projectId)).rejects.toMatchObject({ status: 404 });
    const changed = await rules.update(tenantId, rule.id, { samplingRate: 1, name: "n" });
    expect(changed).toEqual({ ...rule, samplingRate: 1, name: "n" });
    await expect(rules.find(otherId, rule.id)).rejects.toMatchObject({ status: 404 });
    await expect(rules.delete(otherId, rule.id)).rejects.toMatchObject({ status: 404 });
    await rules.delete(tenantId, rule.id);
    expect(await rules.list(tenantId, projectId)).toEqual([]);
  });

  test("a project has a limited number of rules", async () => {
    const { rules, projectId } = await create();
    for (let count = 1; count < ruleLimits.perProject; count += 1) {
      await rules.create(tenantId, projectId, draft);
    }
    await expect(rules.create(tenantId, projectId, draft)).rejects.toMatchObject({
      status: 409,
      message:
        "The project already has the maximum of 50 rules. Delete one that is no longer needed.",
    });
  });

  test("judges are listed apart from other actions, whatever the order of the action's members", async () => {
    const { rules, projectId, rule, clock, match } = await create();
    const judge = {
      key: "quality",
      template: "{{output}}",
      form: { kind: "score" as const },
      endpoint: "local",
      model: "m",
      kind: "judge" as const,
    };
    const judging = await rules.create(tenantId, projectId, { ...draft, action: judge });
    expect(judging.action).toEqual(judge);
    await match("a");
    await rules.advance(emptyScan, [{ tenantId, ruleId: judging.id, runIds: ["b"] }]);
    expect((await rules.listDue(1_000)).due.map(({ ruleId }) => ruleId)).toEqual([rule.id]);
    expect(await rules.listWaitingJudges(999)).toEqual([]);
    expect(await rules.listWaitingJudges(1_000)).toEqual([{ tenantId, ruleId: judging.id }]);
    const due = await rules.findDue(tenantId, judging.id, { nowMicros: 1_000, limit: 1 });
    expect(due).toMatchObject({ action: judge, runs: [{ id: "b", attempts: 0 }] });
    const error = "over the budget";
    clock.nowMicros = 2_000;
    await rules.record([{ tenantId, ruleId: judging.id, runId: "b", error, nextMicros: 9_000 }]);
    expect((await rules.find(tenantId, judging.id)).lastErrors).toEqual([
      { runId: "b", atMicros: 2_000, reason: error, nextMicros: 9_000 },
    ]);
    expect(await rules.listWaitingJudges(8_999)).toEqual([]);
  });

  test("a rule applies once to a run, however often the run is found", async () => {
    const { rules, rule, match, result } = await create();
    await match("a", "b");
    await match("a");
    expect(await rules.find(tenantId, rule.id)).toMatchObject({ matched: 2, applied: 0 });
    await result("a");
    await match("a");
    const { due } = await rules.listDue(1_000);
    expect(due).toMatchObject([
      { tenantId, ruleId: rule.id, action, runs: [{ id: "b", attempts: 0 }] },
    ]);
    expect(await rules.find(tenantId, rule.id)).toMatchObject({ matched: 2, applied: 1 });
  });

  test("an action that failed is due again, then shown as failed, and can be retried", async () => {
    const { rules, rule, match, result, clock } = await create();
    await match("a");
    await result("a", "busy", 4_000);
    expect(await rules.listDue(3_999)).toEqual({ due: [], nextMicros: 4_000 });
    expect((await rules.listDue(4_000)).due[0]?.runs).toEqual([{ id: "a", attempts: 1 }]);
    await result("a", strangeText);
    expect(await rules.find(tenantId, rule.id)).toMatchObject({
      failed: 1,
      lastErrors: [{ runId: "a", atMicros: 1_000, reason: strangeText }],
    });
    clock.nowMicros = 5_000;
    expect(await rules.retry(tenantId, rule.id)).toBe(1);
    expect(await rules.find(tenantId, rule.id)).toMatchObject({ failed: 0, lastErrors: [] });
    expect((await rules.listDue(5_000)).due[0]?.runs).toEqual([{ id: "a", attempts: 0 }]);
  });

  test("the actions of a disabled rule wait until it is enabled", async () => {
    const { rules, rule, match } = await create();
    await match("a");
    await rules.update(tenantId, rule.id, { isEnabled: false });
    expect((await rules.listDue(9_000)).due).toEqual([]);
    expect(await rules.listActive()).toEqual([]);
    await rules.update(tenantId, rule.id, { isEnabled: true });
    expect((await rules.listDue(9_000)).due).toHaveLength(1);
  });

  test("enabling begins with the runs that arrive after it", async () => {
    const { rules, rule, clock } = await create();
    expect(await rules.listActive()).toMatchObject([{ id: rule.id, tenantId, fromRow: 7 }]);
    await rules.update(tenantId, rule.id, { isEnabled: false });
    clock.latestRow = 20;
    await rules.update(tenantId, rule.id, { isEnabled: true });
    expect(await rules.listActive()).toMatchObject([{ fromRow: 20 }]);
    // The latest runs were deleted, and new ones get their rows.
    clock.latestRow = 12;
    await rules.advance(emptyScan, []);
    expect(await rules.listActive()).toMatchObject([{ fromRow: 12 }]);
  });

  test("a paused rule is disabled with the reason, until it is enabled again", async () => {
    const { rules, rule } = await create();
    await rules.pause(tenantId, rule.id, "The filter is not valid.");
    expect(await rules.find(tenantId, rule.id)).toMatchObject({
      isEnabled: false,
      pausedReason: "The filter is not valid.",
    });
    expect(await rules.update(tenantId, rule.id, { isEnabled: true })).toMatchObject({
      pausedReason: null,
    });
  });

  test("applying to past runs advances, ends and can be canceled", async () => {
    const { rules, rule } = await create();
    const range = { fromMicros: 10, toMicros: 90 };
    const begun = await rules.beginPast(tenantId, rule.id, range);
    expect(begun.past).toEqual({ ...range, positionMicros: 10, positionId: "" });
    await expect(rules.beginPast(tenantId, rule.id, range)).rejects.toMatchObject({ status: 409 });
    const matches = { tenantId, ruleId: rule.id, runIds: ["a"] };
    await rules.advancePast(matches, { positionMicros: 50, positionId: "a" });
    expect(await rules.find(tenantId, rule.id)).toMatchObject({
      matched: 1,
      past: { ...range, positionMicros: 50, positionId: "a" },
    });
    await rules.endPast(tenantId, rule.id);
    await rules.advancePast({ ...matches, runIds: ["b"] }, null);
    expect(await rules.find(tenantId, rule.id)).toMatchObject({ matched: 1, past: null });
    await rules.beginPast(tenantId, rule.id, range);
    await rules.advancePast({ ...matches, runIds: ["b"] }, null);
    expect(await rules.find(tenantId, rule.id)).toMatchObject({ matched: 2, past: null });
  });

  test("old marks are forgotten, but not those of actions that wait", async () => {
    const { rules, match, result } = await create();
    await match("a", "b");
    await result("a");
    await rules.prune(2_000);
    const rows = await fixture.db.all(ruleRunQueries.listDue, {
      tenantId,
      ruleId: (await rules.listActive())[0]?.id ?? "",
      nowMicros: 9_000,
      limit: 9,
    });
    expect(rows).toEqual([{ run_id: "b", attempts: 0 }]);
    await match("a");
    expect((await rules.listActive())[0]).toBeDefined();
  });

  test("open roots are watched and removed, the oldest also if there are too many", async () => {
    const { rules } = await create();
    await rules.advance({ ...emptyScan, opened: [{ row: 3, key: "k" }] }, []);
    const count = async (): Promise<number> => fixture.db.run(cursorQueries.removeOpen, { row: 3 });
    await rules.advance({ ...emptyScan, closed: [3] }, []);
    expect(await count()).toBe(0);
    const many = Array.from({ length: ruleLimits.openRoots + 2 }, (_none, row) => ({
      row: row + 1,
      key: "k",
    }));
    expect(await rules.advance({ ...emptyScan, opened: many }, [])).toBe(2);
    expect(await fixture.db.run(cursorQueries.removeOpen, { row: 2 })).toBe(0);
    expect(await count()).toBe(1);
  });
});
