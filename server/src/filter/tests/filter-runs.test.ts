import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { printFilter } from "../ast.ts";
import { FilterError } from "../filter-error.ts";
import { parseFilter } from "../infix-parser.ts";
import { toConditions } from "../../runs/sqlite/run-conditions.ts";
import { anyFilter } from "../../../tests/support/any-filter.ts";
import { fillFixture, insertFeedback } from "../../../tests/support/filter-corpus.ts";
import {
  corpusFilters,
  createRunsWithNulls,
  metadataOfUsers,
  nullFilters,
  refusedNullFilters,
  userFilters,
} from "../../../tests/support/corpus-filters.ts";
import { FilterFixture } from "../../../tests/support/filter-fixture.ts";
import { matches } from "../../../tests/support/filter-oracle.ts";
import type { EvaluatedRun } from "../../../tests/support/filter-oracle.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

test("users and threads are found under each key of the metadata that names them", () => {
  const fixture = new FilterFixture();
  fixture.send({
    post: Object.entries(metadataOfUsers).map(([name, metadata]) =>
      wireRun({ name, extra: { metadata } }),
    ),
  });
  for (const [filter, names] of userFilters) {
    expect({ filter, names: fixture.find(filter) }).toEqual({ filter, names });
  }
});

test("null and exists find the runs without and with a field, for every field", () => {
  const fixture = new FilterFixture();
  const { post, feedback } = createRunsWithNulls();
  fixture.send({ post });
  insertFeedback(fixture, feedback);
  for (const [filter, names] of nullFilters) {
    const found = fixture.find(filter).filter((name) => name !== "parent of full");
    expect({ filter, names: found }).toEqual({ filter, names });
  }
  for (const filter of refusedNullFilters) {
    expect(() => fixture.check(filter)).toThrow(FilterError);
  }
});

describe("over a corpus of runs", () => {
  let fixture: FilterFixture;
  let corpus: readonly EvaluatedRun[];

  beforeAll(() => {
    fixture = new FilterFixture();
    corpus = fillFixture(fixture);
  });

  const expected = (filter: string): string[] =>
    corpus
      .filter((judged) => matches(parseFilter(filter), judged))
      .map(({ run }) => String(run["name"]))
      .toSorted();

  test.each(corpusFilters)("%s", (filter, names) => {
    expect(fixture.find(filter)).toEqual(names);
    expect(expected(filter)).toEqual(names);
  });

  test("any filter finds the runs that the oracle selects", () => {
    fc.assert(
      fc.property(anyFilter().map(printFilter), (text) => {
        expect(fixture.find(text)).toEqual(expected(text));
      }),
      { numRuns: 400 },
    );
  });

  test("no text of a filter becomes part of the SQL", () => {
    const attempts = [
      "'; DROP TABLE runs; --",
      '") OR 1=1 --',
      "' OR '1'='1",
      "?1",
      "%s",
      "$x",
      "*/ x /*",
    ];
    const shapes = [
      (text: string) => `eq(name, ${text})`,
      (text: string) => `in(run_type, [${text}, "a"])`,
      (text: string) => `has(tags, ${text})`,
      (text: string) => `and(eq(metadata_key, ${text}), like(metadata_value, ${text}))`,
      (text: string) => `exists(inputs, ${text})`,
      (text: string) => `or(eq(outputs.sql, ${text}), exists(inputs.html, ${text}))`,
      (text: string) => `has(metadata.deep, ${JSON.stringify(`{${text}: ${text}}`)})`,
      (text: string) => `search(${text})`,
      (text: string) => `and(eq(feedback_key, ${text}), eq(feedback_value, ${text}))`,
      (text: string) => `has(metadata, ${JSON.stringify(`{${text}: ${text}}`)})`,
    ];
    for (const attempt of attempts.map((text) => JSON.stringify(text))) {
      for (const shape of shapes) {
        const filter = shape(attempt);
        expect(fixture.find(filter)).toEqual(expected(filter));
      }
    }
    expect(fixture.runs()).toHaveLength(corpus.length);
    for (const path of ["--DROP", "runs.--DROP.0", "_DROP-"]) {
      const { sql, values } = toConditions(fixture.tenantId, {
        runFilters: [fixture.check(`eq(metadata.${path}, "x")`)],
      });
      expect(sql).not.toContain("DROP");
      expect(values).toContain(path);
      expect(fixture.find(`eq(metadata.${path}, "x")`)).toEqual([]);
    }
  });
});

test("a payload that SQLite can't parse does not fail the query for other runs", () => {
  const fixture = new FilterFixture();
  const deep = `${'{"a":'.repeat(1_500)}1${"}".repeat(1_500)}`;
  const [odd, fine] = [wireRun({ name: "odd" }), wireRun({ name: "fine", tags: ["x"] })];
  const text = JSON.stringify(odd).replace(/\}$/, `,"tags":["x"],"inputs":${deep}}`);
  fixture.sendText(`{"post":[${text},${JSON.stringify(fine)}]}`);
  expect(fixture.find('has(tags, "x")')).toEqual(["fine"]);
  expect(fixture.find('search("x")')).toEqual(["fine"]);
  expect(fixture.find('and(eq(input_key, "a"), not(gt(latency, 1)))')).toEqual([]);
  expect(fixture.find('like(name, "%")')).toEqual(["fine", "odd"]);
});

test("members of the wrong type match nothing, and cause no error", () => {
  const fixture = new FilterFixture();
  const odd = { tags: "x", extra: 5, inputs: ["a"], outputs: "b", error: { code: 1 }, events: {} };
  fixture.send({
    post: [wireRun({ name: "odd", ...odd }), wireRun({ name: "half", extra: { metadata: [] } })],
  });
  for (const filter of [
    'has(tags, "x")',
    'eq(metadata_key, "a")',
    "has(metadata, '{}')",
    'exists(inputs, "a")',
    'search(outputs, "b")',
    "gt(total_tokens, 0)",
    "neq(first_token_time, null)",
    'eq(thread_id, "a")',
  ]) {
    expect(fixture.find(filter)).toEqual([]);
  }
  expect(fixture.find('search(error, "code")')).toEqual(["odd"]);
});

test("the root filter and the tree filter apply to the trace, within the tenant", async () => {
  const fixture = new FilterFixture();
  const root = wireRun({ name: "root", tags: ["a"], micros: someMicros });
  const child = wireRun({ name: "child", parent: root, run_type: "llm", micros: someMicros + 1 });
  const other = wireRun({ name: "other", micros: someMicros + 2 });
  fixture.send({ post: [root, child, other] });
  const { id: stranger } = await fixture.writers.tenants.create({ handle: "b", displayName: "b" });
  const foreign = wireRun({ name: "foreign", parent: other, tags: ["secret"], run_type: "llm" });
  fixture.send({ post: [foreign] }, stranger);
  const at = (name: "rootFilter" | "treeFilter", filter: string): string[] =>
    fixture.query({ [name]: fixture.check(filter) });
  expect(at("rootFilter", 'has(tags, "a")')).toEqual(["child", "root"]);
  expect(at("rootFilter", 'eq(run_type, "llm")')).toEqual([]);
  expect(at("treeFilter", 'eq(run_type, "llm")')).toEqual(["child", "root"]);
  expect(at("treeFilter", 'has(tags, "secret")')).toEqual([]);
  expect(
    fixture.query({
      runFilters: [fixture.check("eq(is_root, false)"), fixture.check('eq(name, "child")')],
      rootFilter: fixture.check('has(tags, "a")'),
    }),
  ).toEqual(["child"]);
});

test("statistics cover the runs that match the filters", () => {
  const fixture = new FilterFixture();
  fixture.send({
    post: [wireRun({ tags: ["a"], error: "x" }), wireRun({ tags: ["a"] }), wireRun()],
  });
  const filter = { runFilters: [fixture.check('has(tags, "a")')] };
  expect(fixture.readers.runs.readStatistics(fixture.tenantId, filter)).toMatchObject({
    runCount: 2,
    errorCount: 1,
  });
});

test("payloads are found by their key, and start times by their index", () => {
  const fixture = new FilterFixture();
  const plan = fixture.explain(
    'and(has(tags, "a"), eq(metadata_key, "b"), gt(start_time, "2026-01-01"))',
    {
      projectIds: [randomUUID()],
    },
  );
  expect(plan).toContain("SEARCH p USING INDEX sqlite_autoindex_payloads_1 (trace_id=? AND id=?)");
  expect(plan).toMatch(/SEARCH r USING INDEX runs_by_start \(project_id=\? AND start_us>\?/);
  expect(plan).not.toMatch(/SCAN (?:r|p)\b/);
});
