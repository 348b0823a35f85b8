import { expect, test } from "vitest";
import { parseOverview } from "../../../src/features/metrics/overview.ts";

const values = { runs: 2, errors: 1, tokens: 7, cost: 0.5, latency_ms: { p50: 10 } };
const points = { runs: [1, 1], errors: [1, 0], tokens: [7, 0], cost: [0.5, 0] };
const response = {
  from: "2026-03-01T12:00:00Z",
  to: "2026-03-01T12:02:00Z",
  width_ms: 60_000,
  all: { total: values, previous: values, points, previous_points: points },
  projects: [{ id: "p", total: values, runs: [1, 1] }],
  missing: [],
  is_partial: true,
};

test("the figures of all projects and of each one are parsed", () => {
  const { metrics, projects, isPartial } = parseOverview(response);
  expect(metrics.total).toMatchObject({ runs: 2, errors: 1, tokens: 7, latency: { p50: 10 } });
  expect(metrics.points.runs).toEqual([1, 1]);
  expect(projects.get("p")).toMatchObject({ total: { runs: 2, cost: 0.5 }, runs: [1, 1] });
  expect(isPartial).toBe(true);
  const left = { id: "q", is_counted: false, total: values, runs: [] };
  const parsed = parseOverview({ ...response, projects: [...response.projects, left] }).projects;
  expect([...parsed.values()].map(({ isCounted }) => isCounted)).toEqual([true, false]);
});

test("a response without projects, or with one that has no id, is an error", () => {
  expect(() => parseOverview({ ...response, projects: undefined })).toThrow("projects");
  expect(() => parseOverview({ ...response, projects: [{}] })).toThrow('no text "id"');
});
