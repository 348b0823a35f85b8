import { describe, expect, test } from "vitest";
import { filterLimits } from "../parser.ts";
import { feedbackIfMissing } from "../../../tests/support/filter-corpus.ts";
import { FilterFixture } from "../../../tests/support/filter-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

describe("a filter at its limits is compiled and run", () => {
  const fixture = new FilterFixture();
  fixture.db.exec(feedbackIfMissing(fixture));
  fixture.send({
    post: [wireRun({ name: "one", tags: ["a"], extra: { metadata: { a: 1 } } })],
  });
  const { depth, jsonNesting, jsonDepth, nodes, entryDepth } = filterLimits;
  const pair = 'and(eq(metadata_key, "a"), eq(metadata_value, 1))';
  const judged = 'and(eq(feedback_key, "a"), not(eq(feedback_score, 1)))';
  const places = "neq(metadata.x, 1)";
  const lists = `has(metadata, '{"a":${'[{"b":'.repeat(jsonNesting)}1${"}]".repeat(jsonNesting)}}')`;
  const nested = (levels: number, open: readonly string[], leaf: string): string =>
    Array.from({ length: levels }, (_, level) => open[level % open.length] ?? "").join("") +
    leaf +
    ")".repeat(levels);

  test.each([
    ["nots", nested(depth - 2, ["not("], pair), ["one"]],
    [
      "ands and ors",
      nested(depth - 2, ['and(eq(name, "one"), ', 'or(eq(name, "x"), '], pair),
      ["one"],
    ],
    [
      "ors over feedback",
      nested(depth - 3, ['or(eq(name, "x"), ', 'and(eq(name, "one"), '], judged),
      [],
    ],
    [
      "all over JSON",
      nested(depth - 1, ['or(eq(name, "x"), ', 'and(eq(name, "one"), ', "not("], lists),
      ["one"],
    ],
    [
      "entries",
      `and(eq(metadata_key, "a"), ${nested(depth - 2, ["or(eq(metadata_value, 2), ", "and(gt(metadata_value, 0), "], "eq(metadata_value, 1)")})`,
      ["one"],
    ],
    ["entries by path", nested(depth - 1, ["not(", 'and(eq(name, "one"), '], places), ["one"]],
    ["entries by path, within nots", nested(depth - 1, ["not("], places), []],
    [
      "users",
      nested(depth - 1, ['or(eq(name, "x"), ', 'and(eq(name, "one"), ', "not("], 'eq(user, "x")'),
      ["one"],
    ],
    [
      "users that are absent",
      nested(depth - 1, ['or(eq(name, "x"), ', 'and(eq(name, "one"), ', "not("], "neq(user, null)"),
      ["one"],
    ],
    [
      "users in lists with null",
      nested(depth - 1, ['or(eq(name, "x"), ', 'and(eq(name, "one"), '], 'in(user, [null, "x"])'),
      ["one"],
    ],
    [
      "paths",
      `and(${Array.from({ length: nodes - 1 }, () => "neq(metadata.x.y, 1)").join(", ")})`,
      ["one"],
    ],
    [
      "steps",
      `or(exists(metadata${".a".repeat(entryDepth)}), eq(metadata${".a".repeat(entryDepth)}, 1))`,
      [],
    ],
    [
      "alternatives",
      `or(${Array.from({ length: nodes - 1 }, () => 'has(tags, "b")').join(", ")})`,
      [],
    ],
    [
      "pairs",
      `and(${Array.from({ length: nodes / 2 - 1 }, () => 'eq(metadata_key, "a"), eq(metadata_value, 1)').join(", ")})`,
      ["one"],
    ],
    [
      "levels of JSON",
      `has(metadata, '${'{"a":'.repeat(jsonDepth - 1)}1${"}".repeat(jsonDepth - 1)}')`,
      [],
    ],
    [
      "members of JSON",
      `has(metadata, '{${Array.from({ length: nodes - 1 }, (_, index) => `"${index}":1`).join()}}')`,
      [],
    ],
    [
      "values",
      `in(name, ["one", ${Array.from({ length: 1_500 }, (_, index) => `"${index}"`).join()}])`,
      ["one"],
    ],
  ] as const)("%s", (_title, filter, names) => {
    for (const which of ["rootFilter", "treeFilter"] as const) {
      expect(fixture.query({ [which]: fixture.check(filter) })).toEqual(names);
    }
    const query = { runFilters: [fixture.check(filter)] };
    expect(fixture.query(query)).toEqual(names);
    expect(fixture.readers.runs.readStatistics(fixture.tenantId, query).runCount).toBe(
      names.length,
    );
  });

  test.each([
    [["not("]],
    [['or(eq(name, "x"), ']],
    [['and(eq(name, "one"), ']],
    [['or(eq(name, "x"), ', 'and(eq(name, "one"), ', "not("]],
  ])("JSON at a path, within %j", (open) => {
    for (const list of ['[{"b":[1]}]', "[[1],[2]]", '[{"b":{"c":{"d":[1]}}}]']) {
      const filter = nested(depth - 1, open, `has(metadata.x, '{"a":${list}}')`);
      const levels = filter.split("not(").length - 1;
      const expected = levels % 2 === 0 ? [] : ["one"];
      for (const which of ["rootFilter", "treeFilter"] as const) {
        expect(fixture.query({ [which]: fixture.check(filter) })).toEqual(expected);
      }
    }
  });
});
