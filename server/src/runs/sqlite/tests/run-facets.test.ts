import { randomUUID } from "node:crypto";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { parseFilter } from "../../../filter/infix-parser.ts";
import { findRequiredFacets } from "../../required-facets.ts";
import { anyFacet, blockMicros, readPayloadFacets } from "../../facets.ts";
import { narrowByIndex } from "../index-lookups/narrow-by-index.ts";
import { createReaders } from "../../../store/repositories.ts";
import { parsedColumns } from "../run-columns.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { formatMigrations, openWriter } from "../../../store/schema.ts";
import { readDefaultTenantId } from "../../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import { FilterFixture } from "../../../../tests/support/filter-fixture.ts";
import { matches } from "../../../../tests/support/filter-oracle.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

const createMembers = (run: Readonly<Record<string, unknown>>): Map<string, Buffer> =>
  new Map(Object.entries(run).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]));

const listFacetRows = ({ db }: FilterFixture): string[] =>
  parseRows(db.prepare("SELECT facet, block FROM run_facets ORDER BY 1, 2").raw().all()).map(
    ([facet, block]) => `${String(facet)} ${Number(block)}`,
  );

describe("the facets of a payload", () => {
  test.each<[Readonly<Record<string, unknown>>, readonly string[]]>([
    [{}, []],
    [{ tags: null, extra: null }, []],
    [{ tags: "x", extra: { metadata: ["a"] } }, []],
    [{ tags: ["a", 5, "\0\ud800"] }, ["ta", "t\0\ud800"]],
    [{ extra: { metadata: { k: "v", n: 1, o: { p: "q" } } } }, ["kk", "p1:k=v", "kn", "ko"]],
    [{ extra: { metadata: { l: ["a", ["b"], { c: "d" }] } } }, ["kl", "p1:l=a", "p1:l=b"]],
    [{ tags: ["x".repeat(201)], extra: { metadata: { k: "x".repeat(201) } } }, ["kk"]],
    [{ tags: Array.from({ length: 101 }, (_, index) => `t${index}`) }, [anyFacet]],
    [{ extra: { a: "x".repeat(70_000) } }, [anyFacet]],
  ])("%j", (members, facets) => {
    expect(readPayloadFacets(createMembers(members))).toEqual(facets);
  });

  test("lists of ten thousand levels are searched to a limited depth", () => {
    const extra = `{"metadata":{"a":${"[".repeat(9_000)}"x"${"]".repeat(9_000)}}}`;
    expect(readPayloadFacets(new Map([["extra", Buffer.from(extra)]]))).toEqual(["ka"]);
  });
});

describe("the facets that a filter uses", () => {
  test.each<[string, readonly (readonly string[])[]]>([
    ['has(tags, "a")', [["ta"]]],
    ['in(tag, ["a", "b"])', [["ta", "tb"]]],
    ['neq(tags, "a")', []],
    ['like(tags, "a%")', []],
    ['not(has(tags, "a"))', []],
    ['or(has(tags, "a"), exists(metadata, "k"))', [["ta", "kk"]]],
    ['or(has(tags, "a"), eq(name, "b"))', [["ta", "nb"]]],
    ['or(has(tags, "a"), eq(status, "error"))', []],
    ['in(run_type, ["llm", "tool"])', [["yllm", "ytool"]]],
    ['neq(name, "b")', []],
    ['like(name, "b%")', []],
    ['and(eq(name, "b"), has(tags, "a"), not(has(tags, "b")))', [["nb"], ["ta"]]],
    ['exists(metadata, "a.b")', []],
    ['exists(inputs, "a")', []],
    ['eq(metadata_value, "v")', []],
    ['and(eq(metadata_key, "k"), eq(metadata_value, "v"))', [["p1:k=v"]]],
    ['and(eq(metadata_key, "k"), eq(metadata_value, "7"))', [["kk"]]],
    ['and(eq(metadata_key, "k"), eq(metadata_value, "true"))', [["kk"]]],
    ['and(eq(metadata_key, "k"), neq(metadata_value, "v"))', [["kk"]]],
    [
      'and(eq(metadata_key, "k"), in(metadata_key, ["l"]), eq(metadata_value, "v"))',
      [["p1:l=v"], ["kk"]],
    ],
    ['and(in(metadata_key, ["k", "l"]), eq(metadata_value, "v"))', [["p1:k=v", "p1:l=v"]]],
    ['and(in(metadata_key, ["k", "l.m"]), eq(metadata_value, "v"))', []],
    ['and(in(metadata_key, ["k", "l"]), in(metadata_value, ["v", "w"]))', [["kk", "kl"]]],
    ['and(in(metadata_key, ["k", "l"]), in(metadata_value, ["v"]))', [["p1:k=v", "p1:l=v"]]],
    [`has(metadata, '{"a": "b", "c": 1, "d": {"e": "f"}}')`, [["p1:a=b"], ["kc"], ["kd"]]],
    [
      'eq(thread_id, "t")',
      [
        [
          "p10:session_id=t",
          "p9:thread_id=t",
          "p15:conversation_id=t",
          "p19:langfuse_session_id=t",
        ],
      ],
    ],
    ["user = ann", [["p7:user_id=ann", "p16:langfuse_user_id=ann"]]],
    [`has(tags, "${"x".repeat(201)}")`, []],
  ])("%s", (filter, facets) => {
    expect(findRequiredFacets(checkFilter(filter, runFields))).toEqual(facets);
  });
});

test("runs of one block share the rows of their facets", () => {
  const fixture = new FilterFixture();
  const start = Math.ceil(someMicros / blockMicros) * blockMicros;
  const run = (micros: number) =>
    wireRun({ micros, name: "n", run_type: "y", tags: ["a"], extra: { metadata: { k: "v" } } });
  fixture.send({ post: [run(start), run(start + blockMicros - 1), run(start + blockMicros)] });
  const block = start / blockMicros;
  expect(listFacetRows(fixture)).toEqual(
    ["kk", "nn", "p1:k=v", "ta", "yy"].flatMap((facet) => [
      `${facet} ${block}`,
      `${facet} ${block + 1}`,
    ]),
  );
});

test("a run whose start time changes gets the wildcard facet at its new time; a deleted project has no facets", () => {
  const fixture = new FilterFixture();
  const run = wireRun({ name: "moved", tags: ["a"], session_name: "p" });
  fixture.send({ post: [run] });
  fixture.send({ patch: [patchOf(run, { start_time: someMicros / 1_000 + 60_000 })] });
  const block = Math.floor(someMicros / blockMicros);
  const later = block + 60_000_000 / blockMicros;
  expect(listFacetRows(fixture)).toContain(`* ${later}`);
  expect(listFacetRows(fixture)).toContain(`ta ${block}`);
  expect(listFacetRows(fixture)).not.toContain(`ta ${later}`);
  expect(fixture.find('has(tags, "a")')).toEqual(["moved"]);
  fixture.db.prepare("DELETE FROM projects").run([]);
  expect(listFacetRows(fixture)).toEqual([]);
});

test("runs of an older database are found by their facets", async () => {
  const path = join(await temporaryFolder(), "old.db");
  const old = openDatabase(path);
  const [id, projectId, tenantId] = [randomUUID(), randomUUID(), randomUUID()];
  old.exec(`${formatMigrations[0]} ${formatMigrations[1]} PRAGMA user_version = 2;
    INSERT INTO settings VALUES ('tenant_id', '${tenantId}');
    INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES ('${projectId}', '${tenantId}', '"p"', 5);
    INSERT INTO runs VALUES ('${id}', '${id}', '${projectId}', 'old', 'llm', ${someMicros}, NULL, 0, NULL, '', NULL, 1, 0);
    INSERT INTO payloads VALUES ('${id}', '${id}', '', '{"tags":["a"]}');`);
  old.close();
  const db = openWriter(path);
  const found = createReaders(db).runs.query(readDefaultTenantId(db), {
    filter: { runFilters: [checkFilter('has(tags, "a")', runFields)] },
    order: "asc",
    limit: 5,
    withChildren: false,
  });
  db.close();
  expect(found.runs.map(({ row }) => row.name)).toEqual(["old"]);
});

test("rare facets are looked up in the index, common ones are found by scanning", () => {
  const fixture = new FilterFixture();
  const rare = wireRun({ name: "rare", tags: ["rare"], micros: blockMicros });
  fixture.send({ post: [rare] });
  fixture.db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001)
    INSERT INTO runs (${parsedColumns.join(", ")})
      SELECT 'x' || i, 'x' || i, r.project_id, 'common', 'llm', ${2 * blockMicros} + i, NULL, 0, NULL, '', NULL, 1, 0, 1
      FROM n, runs r WHERE r.id = '${rare.id}';
    INSERT INTO run_facets SELECT DISTINCT project_id, 'tcommon', start_us / ${blockMicros} FROM runs`);
  const projects = parseRows(fixture.db.prepare("SELECT id FROM projects").raw().all()).map(String);
  const narrowed = (filter: string) =>
    narrowByIndex(fixture.db, projects, { filters: [fixture.check(filter)] });
  expect(narrowed('has(tags, "common")')).toBeUndefined();
  expect(narrowed('search("rare")')).toBeUndefined();
  const few = narrowed('and(has(tags, "common"), has(tags, "rare"))');
  const rows = fixture.db.prepare(`SELECT r.id FROM runs r WHERE ${few?.sql}`).raw();
  expect(rows.all([...(few?.values ?? [])])).toEqual([[rare.id]]);
  const plan = fixture.db
    .prepare(`EXPLAIN QUERY PLAN SELECT 1 FROM runs r WHERE ${few?.sql}`)
    .raw();
  const steps = parseRows(plan.all([...(few?.values ?? [])])).map((row) => String(row.at(-1)));
  expect(steps.join("\n")).toMatch(/SEARCH r USING INTEGER PRIMARY KEY \(rowid=\?\)/);
  expect(steps.join("\n")).toMatch(
    /SEARCH run_facets USING PRIMARY KEY \(project_id=\? AND facet=\?\)/,
  );
  expect(steps.join("\n")).toMatch(
    /SEARCH c USING COVERING INDEX runs_by_start \(project_id=\? AND start_us>\? AND start_us<\?\)/,
  );
  expect(fixture.find('has(tags, "rare")')).toEqual(["rare"]);
});

test("rare tokens and costs are looked up in an index, also those of runs without columns for them", () => {
  const fixture = new FilterFixture();
  const usage = (tokens: number, cost: number) => ({
    extra: { metadata: { usage_metadata: { total_tokens: tokens, total_cost: cost } } },
  });
  const names = ["dear", "cheap", "unread"] as const;
  const [dear, cheap, unread] = [usage(900, 2), usage(10, 0.01), usage(800, 1)].map(
    (fields, index) => wireRun({ name: names[index], ...fields }),
  );
  fixture.send({ post: [dear, cheap, unread] });
  // As a version without these columns would have stored the run: its usage is only in its payload.
  fixture.db
    .prepare("UPDATE runs SET measured = 0, total_tokens = NULL, total_cost = NULL WHERE id = ?")
    .run([String(unread?.["id"])]);
  const projects = parseRows(fixture.db.prepare("SELECT id FROM projects").raw().all()).map(String);
  const candidates = (filter: string): readonly string[] => {
    const few = narrowByIndex(fixture.db, projects, { filters: [fixture.check(filter)] });
    const rows = fixture.db
      .prepare(`SELECT r.name FROM runs r WHERE ${few?.sql} ORDER BY r.name`)
      .raw();
    return parseRows(rows.all([...(few?.values ?? [])])).map(String);
  };
  for (const [filter, found] of [
    ["gt(total_tokens, 500)", ["dear", "unread"]],
    ["and(gte(total_tokens, 800), lt(total_tokens, 900))", ["unread"]],
    ["gt(total_cost, 0.5)", ["dear", "unread"]],
    ["eq(total_cost, 0.01)", ["cheap"]],
    ["gt(total_tokens, 1000000)", []],
  ] as const) {
    expect(fixture.find(filter)).toEqual(found);
    expect(candidates(filter)).toEqual([...new Set([...found, "unread"])].toSorted());
  }
  expect(
    narrowByIndex(fixture.db, projects, { filters: [fixture.check("eq(total_tokens, null)")] }),
  ).toBeUndefined();
});

test("filters find the matching runs, whatever the order of posts and patches", () => {
  const filters = [
    'has(tags, "a")',
    'in(tags, ["b", "c"])',
    'eq(metadata_key, "k")',
    'and(eq(metadata_key, "k"), eq(metadata_value, "a"))',
    `has(metadata, '{"k": "b"}')`,
    'eq(thread_id, "a")',
    'eq(name, "a")',
    'eq(run_type, "b")',
    "gt(latency, 1)",
    'eq(status, "error")',
    'eq(status, "pending")',
  ];
  const word = fc.constantFrom("a", "b", "c");
  const fields = fc.record(
    {
      tags: fc.option(fc.array(word, { maxLength: 2 })),
      extra: fc.record({ metadata: fc.dictionary(fc.constantFrom("k", "thread_id"), word) }),
      start_time: fc.constantFrom(someMicros / 1_000, someMicros / 1_000 + 500, 1_000),
      session_name: fc.constantFrom("p", "q"),
      name: word,
      run_type: word,
      end_time: fc.constantFrom(null, someMicros / 1_000 + 700, someMicros / 1_000 + 5_000),
      error: fc.constantFrom(null, "it failed"),
    },
    { requiredKeys: [] },
  );
  const steps = fc.array(
    fc.record({
      run: fc.nat(2),
      operation: fc.constantFrom("post" as const, "patch" as const),
      fields,
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(steps, (received) => {
      const fixture = new FilterFixture();
      const runs = [0, 1, 2].map((index) =>
        wireRun({ name: `run ${index}`, micros: someMicros + index }),
      );
      for (const { run, operation, fields: given } of received) {
        const base = runs[run] ?? {};
        fixture.send(
          operation === "post"
            ? { post: [{ ...base, ...given }] }
            : { patch: [patchOf(base, given)] },
        );
      }
      const stored = fixture.runs();
      for (const filter of filters) {
        const expected = stored.filter((run) =>
          matches(parseFilter(filter), { run, feedback: [] }),
        );
        expect(fixture.find(filter)).toEqual(expected.map(({ name }) => String(name)).toSorted());
      }
      fixture.db.close();
    }),
    { numRuns: 60 },
  );
});
