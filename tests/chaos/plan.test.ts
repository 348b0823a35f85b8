import { expect, test } from "vitest";
import { down, faultNames } from "./soak/faults.ts";
import { planOf } from "./soak/plan.ts";
import { Random } from "./soak/random.ts";

const twoMinutes = 120_000;
const oneMinute = 60_000;

test("a plan is the same for the same seed, and different for another seed", () => {
  const plan = planOf({ seed: 7, durationMs: twoMinutes });
  expect(planOf({ seed: 7, durationMs: twoMinutes })).toEqual(plan);
  expect(planOf({ seed: 8, durationMs: twoMinutes })).not.toEqual(plan);
});

test.each([oneMinute, twoMinutes])(
  "every fault occurs within %i ms, for any seed",
  (durationMs) => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const plan = planOf({ seed, durationMs });
      const faults = new Set(plan.flatMap((step) => (step.is === "fault" ? [step.fault] : [])));
      expect(faultNames.filter((name) => !faults.has(name))).toEqual([]);
      const kinds = new Set(plan.map(({ is }) => is));
      expect(kinds).toEqual(
        new Set(["fault", "info", "kill worker", "set clock", "kill producer", "kill server"]),
      );
    }
  },
);

test("steps are sorted by time, and none is after the end", () => {
  const times = planOf({ seed: 3, durationMs: twoMinutes }).map(({ atMs }) => atMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(Math.min(...times)).toBeGreaterThan(0);
  expect(Math.max(...times)).toBeLessThan(twoMinutes);
});

test("a long plan contains one server outage of two minutes", () => {
  const faults = planOf({ seed: 5, durationMs: 1_200_000 }).filter(({ is }) => is === "fault");
  const outages = faults.flatMap((step, index) =>
    "fault" in step && step.fault === down
      ? [(faults[index + 1]?.atMs ?? step.atMs) - step.atMs]
      : [],
  );
  expect(outages.filter((lengthMs) => lengthMs >= 120_000)).toHaveLength(1);
  expect(outages.length).toBeGreaterThan(3);
});

test("random numbers stay within their range and are evenly distributed", () => {
  const random = new Random(1);
  const drawn = Array.from({ length: 10_000 }, () => random.integer(3, 7));
  expect(new Set(drawn)).toEqual(new Set([3, 4, 5, 6, 7]));
  expect(drawn.filter((number) => number === 3).length / drawn.length).toBeCloseTo(0.2, 1);
  const ids = Array.from({ length: 1_000 }, () => random.uuid());
  expect(new Set(ids).size).toBe(1_000);
  for (const id of ids) {
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  }
});
