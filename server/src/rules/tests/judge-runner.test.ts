import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { RequestError } from "../../model/errors.ts";
import { JudgeRunner } from "../judge-runner.ts";
import { ruleLimits } from "../rule.ts";
import type { DueAction } from "../rule.ts";

/** Rules with waiting runs, and judges that end when a test says so. */
function createScene(waiting: Readonly<Record<string, readonly string[]>>) {
  const open = new Map<string, (failure?: unknown) => void>();
  const begun: string[] = [];
  const recorded: string[] = [];
  const rules = Object.keys(waiting).map((name) => {
    const [tenantId = "", ruleId = ""] = name.split("/");
    return { tenantId, ruleId };
  });
  const runner = new JudgeRunner({
    rules: {
      listWaitingJudges: async () => rules,
      findDue: async (tenantId, ruleId, { limit }): Promise<DueAction> => ({
        tenantId,
        ruleId,
        ruleName: "r",
        projectId: "p",
        action: { kind: "queue", queue_id: "q" },
        runs: (waiting[`${tenantId}/${ruleId}`] ?? [])
          .filter((id) => !recorded.includes(id))
          .slice(0, limit)
          .map((id) => ({ id, attempts: 0 })),
      }),
    },
    judge: async (_due, id, signal) => {
      begun.push(id);
      return new Promise((resolve) => {
        open.set(id, resolve);
        signal.addEventListener("abort", () => resolve(signal.reason));
      });
    },
    record: async (_due, { id }) => void recorded.push(id),
    onEnd: () => undefined,
  });
  const end = async (id: string, failure?: unknown): Promise<void> => {
    open.get(id)?.(failure);
    await setImmediate();
  };
  return { runner, begun, recorded, end };
}

const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

test("a few judges of each tenant run at the same time, and none twice", async () => {
  const scene = createScene({ "a/1": names("a", 10), "b/1": names("b", 1) });
  await scene.runner.begin();
  await scene.runner.begin();
  expect(scene.begun).toEqual([...names("a", ruleLimits.judgesOfTenant), "b0"]);
  await scene.end("a0");
  await scene.runner.begin();
  expect(scene.begun.at(-1)).toBe(`a${ruleLimits.judgesOfTenant}`);
  expect(scene.recorded).toEqual(["a0"]);
  await scene.runner.close();
});

test("no more judges run than the server allows in total", async () => {
  const tenants = ruleLimits.judgesAtOnce / ruleLimits.judgesOfTenant + 1;
  const scene = createScene(
    Object.fromEntries(
      names("t", tenants).map((tenant) => [`${tenant}/1`, names(`${tenant}-`, 10)]),
    ),
  );
  await scene.runner.begin();
  expect(scene.begun).toHaveLength(ruleLimits.judgesAtOnce);
  await scene.runner.close();
});

test("a tenant that has made too many calls waits, and others do not", async () => {
  const scene = createScene({ "a/1": ["a0", "a1"], "b/1": ["b0"] });
  await scene.runner.begin();
  await scene.end("a0", new RequestError(429, "too many calls", 30));
  await scene.end("b0");
  await scene.runner.begin();
  expect(scene.begun).toEqual(["a0", "a1", "b0"]);
  expect(scene.recorded).toEqual(["b0"]);
  const overBudget = new RequestError(429, "the budget is not enough", 3_600);
  await scene.end("a1", overBudget);
  expect(scene.recorded).toEqual(["b0", "a1"]);
  await scene.runner.close();
});

test("closing cancels what is running, and records nothing of it", async () => {
  const scene = createScene({ "a/1": ["a0"] });
  await scene.runner.begin();
  await scene.runner.close();
  await scene.runner.begin();
  expect(scene.begun).toEqual(["a0"]);
  expect(scene.recorded).toEqual([]);
});
