import { expect, test } from "vitest";
import { toActivity } from "../../../src/features/projects/project-activity.ts";

const at = (hour: number): string => new Date(Date.UTC(2026, 2, 1, hour)).toISOString();
const range = { fromMs: Date.parse(at(0)), toMs: Date.parse(at(24)) };

test("counts are spread over the range, with their sum and the latest trace", () => {
  const counts = {
    buckets: [
      { start: at(1), runs: 4, errors: 1 },
      { start: at(23), runs: 6, errors: 0 },
    ],
  };
  const activity = toActivity(counts, { ...range, last: { to: at(23) } });
  expect(activity).toMatchObject({ traces: 10, errors: 1, lastMs: Date.parse(at(23)) });
  expect(activity.buckets).toHaveLength(24);
  expect([activity.buckets[1], activity.buckets[2], activity.buckets[23]]).toEqual([4, 0, 6]);
});

test("a project without traces has no last activity; a response without counts is an error", () => {
  expect(toActivity({ buckets: [] }, { ...range, last: { to: null } })).toMatchObject({
    traces: 0,
    lastMs: undefined,
  });
  expect(() => toActivity({}, { ...range, last: {} })).toThrow(TypeError);
});
