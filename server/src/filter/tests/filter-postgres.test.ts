import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { printFilter } from "../ast.ts";
import type { Filter } from "../ast.ts";
import { checkFilter } from "../checker.ts";
import { runFields } from "../fields.ts";
import { parseFilter } from "../infix-parser.ts";
import type { RunFilter } from "../../runs/run-query.ts";
import { toRunJson } from "../../runs/serializers/run-json.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import { toCondition } from "../../runs/postgres/run-conditions.ts";
import { encodeJsonTexts } from "../../storage/postgres/text-encoding.ts";
import { anyFilter } from "../../../tests/support/any-filter.ts";
import {
  corpusFilters,
  createRunsWithNulls,
  metadataOfUsers,
  nullFilters,
  userFilters,
} from "../../../tests/support/corpus-filters.ts";
import {
  addFeedback,
  createCorpus,
  feedbackColumns,
  listFeedbackRows,
} from "../../../tests/support/filter-corpus.ts";
import { matches } from "../../../tests/support/filter-oracle.ts";
import type { EvaluatedRun } from "../../../tests/support/filter-oracle.ts";
import type { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { openPglite, openRunStore } from "../../../tests/support/postgres-run-store.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import type { RunTestStore, WireObject } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

let client: PgliteClient;
let store: ReturnType<typeof openRunStore>;
beforeAll(async () => {
  client = await openPglite();
  store = openRunStore(client);
}, 60_000);
afterAll(() => client.close());

const check = (filter: string) => checkFilter(filter, runFields);

/** A tenant without runs. */
const createTenant = (): StoreFixture<RunTestStore> => new StoreFixture(store, randomUUID());

/** Names of the runs that a filter finds, sorted. */
const findAll = async (
  fixture: StoreFixture<RunTestStore>,
  filter: RunFilter,
): Promise<readonly string[]> => (await fixture.query(filter, { limit: 1_000 })).toSorted();

const find = (fixture: StoreFixture<RunTestStore>, filter: string): Promise<readonly string[]> =>
  findAll(fixture, { runFilters: [check(filter)] });

async function insertFeedback(
  fixture: StoreFixture<RunTestStore>,
  feedback: readonly WireObject[],
): Promise<void> {
  for (const row of listFeedbackRows(fixture.tenantId, feedback)) {
    await store.db.query(
      `INSERT INTO feedback (${feedbackColumns.join(", ")}) VALUES (${feedbackColumns.map((_name, index) => `$${index + 1}`).join(", ")})`,
      row,
    );
  }
}

test("users and threads are found under each key of the metadata that names them", async () => {
  const fixture = createTenant();
  await fixture.send({
    post: Object.entries(metadataOfUsers).map(([name, metadata]) =>
      wireRun({ name, extra: { metadata } }),
    ),
  });
  for (const [filter, names] of userFilters) {
    expect({ filter, names: await find(fixture, filter) }).toEqual({ filter, names });
  }
});

test("null and exists find the runs without and with a field, for every field", async () => {
  const fixture = createTenant();
  const { post, feedback } = createRunsWithNulls();
  await fixture.send({ post });
  await insertFeedback(fixture, feedback);
  for (const [filter, names] of nullFilters) {
    const found = await find(fixture, filter);
    const others = found.filter((name) => name !== "parent of full");
    expect({ filter, names: others }).toEqual({ filter, names });
  }
});

describe("over a corpus of runs", () => {
  let fixture: StoreFixture<RunTestStore>;
  let corpus: readonly EvaluatedRun[];

  beforeAll(async () => {
    fixture = createTenant();
    const { batches, feedback } = createCorpus();
    for (const batch of batches) {
      // Sequential: a patch must arrive after the one before it.
      await fixture.send(batch);
    }
    await insertFeedback(fixture, feedback);
    const { runs } = await store.read.runs.query(fixture.tenantId, {
      filter: {},
      order: "asc",
      limit: 100,
      withChildren: false,
    });
    corpus = addFeedback(
      runs.map((run) => JSON.parse(toRunJson(run).toString()) as WireObject),
      feedback,
    );
  });

  const expected = (filter: string): readonly string[] =>
    corpus
      .filter((judged) => matches(parseFilter(filter), judged))
      .map(({ run }) => String(run["name"]))
      .toSorted();

  test("each filter finds the same runs as on SQLite", async () => {
    for (const [filter, names] of corpusFilters) {
      expect({ filter, names: await find(fixture, filter) }).toEqual({ filter, names });
    }
  });

  // The oracle gets encoded texts, because they are what PostgreSQL compares: the order of NUL and of halves of surrogate
  // pairs differs from that on SQLite, and a pattern is compared with the whole text, also behind a NUL.
  test("any filter finds the runs that the oracle selects", async () => {
    const encodedCorpus = encodeJsonTexts(corpus) as typeof corpus;
    await fc.assert(
      fc.asyncProperty(anyFilter().map(printFilter), async (text) => {
        const filter = encodeJsonTexts(parseFilter(text)) as Filter;
        const names = encodedCorpus
          .filter((judged) => matches(filter, judged))
          .map(({ run }) => String(run["name"]));
        expect(await find(fixture, text)).toEqual(names.toSorted());
      }),
      { numRuns: 100 },
    );
  }, 180_000);

  test("no text of a filter becomes part of the SQL", async () => {
    for (const attempt of ["'; DROP TABLE runs; --", "' OR '1'='1", "?1", "$1", "\\", "%s"]) {
      const text = JSON.stringify(attempt);
      for (const filter of [
        `eq(name, ${text})`,
        `has(tags, ${text})`,
        `and(eq(metadata_key, ${text}), like(metadata_value, ${text}))`,
        `exists(inputs, ${text})`,
        `search(${text})`,
        `has(metadata, ${JSON.stringify(`{${text}: ${text}}`)})`,
      ]) {
        expect(await find(fixture, filter)).toEqual(expected(filter));
        const { sql } = toCondition(fixture.tenantId, { runFilters: [check(filter)] });
        expect(sql).not.toContain(attempt === "?1" || attempt === "$1" ? "?1" : attempt);
      }
    }
  });
});

test("a payload that PostgreSQL can't read does not fail the query for other runs", async () => {
  const fixture = createTenant();
  const deep = `${'{"a":'.repeat(1_500)}1${"}".repeat(1_500)}`;
  const runs = [
    [wireRun({ name: "deep" }), `"tags":["x"],"inputs":${deep}`],
    [wireRun({ name: "huge" }), '"tags":["x"],"inputs":{"n":1e400000}'],
    [wireRun({ name: "large" }), '"tags":["x"],"inputs":{"n":1e400}'],
    [wireRun({ name: "fine" }), '"tags":["x"],"inputs":{"n":1}'],
  ] as const;
  const texts = runs.map(([run, more]) => JSON.stringify(run).replace(/\}$/, `,${more}}`));
  await store.ingest(
    fixture.tenantId,
    parseBatch(Buffer.from(`{"post":[${texts.join(",")}]}`)).batch,
  );
  expect(await find(fixture, 'has(tags, "x")')).toEqual(["fine", "large"]);
  expect(await find(fixture, 'and(eq(input_key, "n"), gt(input_value, 0))')).toEqual(["fine"]);
  expect(await find(fixture, 'eq(input_value, "1")')).toEqual(["fine"]);
  expect(await find(fixture, "not(gt(inputs.n, 0.5))")).toEqual(["deep", "huge", "large"]);
});

test("members of the wrong type match nothing, and cause no error", async () => {
  const fixture = createTenant();
  const odd = { tags: "x", extra: 5, inputs: ["a"], outputs: "b", error: { code: 1 }, events: {} };
  await fixture.send({
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
    expect(await find(fixture, filter)).toEqual([]);
  }
  expect(await find(fixture, 'search(error, "code")')).toEqual(["odd"]);
});

test("the root filter and the tree filter apply to the trace, within the tenant", async () => {
  const [fixture, stranger] = [createTenant(), createTenant()];
  const root = wireRun({ name: "root", tags: ["a"], micros: someMicros });
  const child = wireRun({ name: "child", parent: root, run_type: "llm", micros: someMicros + 1 });
  const other = wireRun({ name: "other", micros: someMicros + 2 });
  await fixture.send({ post: [root, child, other] });
  const foreign = wireRun({ name: "foreign", parent: other, tags: ["secret"], run_type: "llm" });
  await stranger.send({ post: [foreign] });
  const findAt = (name: "rootFilter" | "treeFilter", filter: string) =>
    findAll(fixture, { [name]: check(filter) });
  expect(await findAt("rootFilter", 'has(tags, "a")')).toEqual(["child", "root"]);
  expect(await findAt("rootFilter", 'eq(run_type, "llm")')).toEqual([]);
  expect(await findAt("treeFilter", 'eq(run_type, "llm")')).toEqual(["child", "root"]);
  expect(await findAt("treeFilter", 'has(tags, "secret")')).toEqual([]);
});
