import { expect, test } from "vitest";
import { toRunListSearch } from "../../../src/features/dashboard/run-links.ts";
import type { CountedRuns } from "../../../src/features/dashboard/run-links.ts";

const fromMs = Date.parse("2026-03-01T12:00:00Z");
const range = { fromMs, toMs: fromMs + 60_000 };
const filterOf = (counted: Partial<CountedRuns>) =>
  toRunListSearch({ scope: "all", filter: undefined, ...range, ...counted }).filter;

test("the list has the range of the mark, without the start of the next one", () => {
  expect(toRunListSearch({ scope: "traces", filter: undefined, ...range })).toEqual({
    from: "2026-03-01T12:00:00.000Z",
    to: "2026-03-01T12:00:59.999Z",
  });
});

test.each<[Partial<CountedRuns>, string | undefined]>([
  [{}, undefined],
  [{ scope: "models" }, 'in(run_type, ["llm", "embedding"])'],
  [{ isError: true, filter: 'eq(name, "a")' }, 'and(eq(status, "error"), eq(name, "a"))'],
  [{ grouping: "model", group: { kind: "value", value: 'm"1' } }, 'eq(model, "m\\"1")'],
  [
    { scope: "traces", grouping: "model", group: { kind: "value", value: "m" } },
    'eq(metadata.ls_model_name, "m")',
  ],
  [{ grouping: "user", group: { kind: "value", value: "ann" } }, 'eq(user, "ann")'],
  [
    { grouping: "user", group: { kind: "none", value: "" } },
    'not(or(exists(metadata, "user_id"), exists(metadata, "langfuse_user_id")))',
  ],
  [
    { grouping: "user", group: { kind: "other", value: "" }, values: ["ann"] },
    'and(or(exists(metadata, "user_id"), exists(metadata, "langfuse_user_id")), not(eq(user, "ann")))',
  ],
  [
    { grouping: "name", group: { kind: "other", value: "" }, values: ["a", "b"] },
    'and(not(eq(name, "a")), not(eq(name, "b")))',
  ],
  [{ grouping: "tag", group: { kind: "value", value: "eu" } }, 'has(tags, "eu")'],
  [{ group: { kind: "value", value: "x" } }, undefined],
])("%j becomes the filter %s", (counted, filter) => {
  expect(filterOf(counted)).toBe(filter);
});
