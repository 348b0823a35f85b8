import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { createFeedbackDraft } from "../../../../tests/support/feedback-draft.ts";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import { parseBatch } from "../../ingest/parse-batch.ts";

/** More runs than a step scans before it uses an index. */
const laterRuns = 10_100;

const tenantId = randomUUID();
let client: PgliteClient;
let store: PostgresRunStore;
let projectId: string;

/** Ten runs with feedback, the earlier the slower, below many later runs without any. */
beforeAll(async () => {
  client = await openPglite();
  store = openRunStore(client);
  const judged = Array.from({ length: 10 }, (_, index) =>
    wireRun({
      name: `judged ${index}`,
      session_name: "p",
      micros: someMicros + index,
      end_time: new Date(someMicros / 1_000 + 1_000 - 10 * index).toISOString(),
      extra: { metadata: { usage_metadata: { total_tokens: 100 * index, total_cost: index / 4 } } },
    }),
  );
  const later = wireRun({ name: "later", session_name: "p", micros: someMicros + 1_000_000 });
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post: [...judged, later] })));
  const feedback = judged.flatMap(({ id }, index) => [
    createFeedbackDraft({ runId: id, key: "helpful", score: index / 10 }),
    createFeedbackDraft({ runId: id, key: "other", score: 1 }),
  ]);
  await store.ingest(tenantId, { ...batch, feedback });
  const [project] = await store.read.projects.list(tenantId, { name: "p", limit: 1, offset: 0 });
  projectId = project?.id ?? "";
  // Copies are faster than batches. Their ids need not be valid.
  await store.transact(() =>
    client.exec(`INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object(
      'id', r.id || n, 'trace_id', r.id || n, 'start_us', r.start_us + n, 'place', r.place + n))).*
      FROM runs r, generate_series(1, ${laterRuns}) n WHERE r.id = '${later.id}'`),
  );
}, 60_000);
afterAll(() => client.close());

test.each([
  ["a key and a score", 'and(eq(feedback_key, "helpful"), lt(feedback_score, 0.3))', [2, 1, 0]],
  ["a key", 'eq(feedback_key, "other")', [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
  [
    "two keys, each with its own score",
    'and(and(eq(feedback_key, "helpful"), gt(feedback_score, 0.7)), and(eq(feedback_key, "other"), eq(feedback_score, 1)))',
    [9, 8],
  ],
  [
    "a key, of runs with a name",
    'and(eq(name, "judged 4"), and(eq(feedback_key, "helpful"), gt(feedback_score, 0.1)))',
    [4],
  ],
  ["a key that no feedback has", 'eq(feedback_key, "absent")', []],
])("runs with feedback of %s are found by it, and not by a scan", expectFound);

test.each([
  ["tokens", "and(gt(total_tokens, 200), lte(total_tokens, 400))", [4, 3]],
  ["costs", "gte(total_cost, 2)", [9, 8]],
  ["more tokens than any run", "gt(total_tokens, 1000000)", []],
])("runs with %s are found by their index, and not by a scan", expectFound);

async function expectFound(_: string, text: string, expected: readonly number[]): Promise<void> {
  const filter = { runFilters: [checkFilter(text, runFields)] };
  const names = expected.map((index) => `judged ${index}`);
  for (const [sort, order, sorted] of [
    ["start", "desc", names],
    ["start", "asc", names.toReversed()],
    ["latency", "asc", names],
  ] as const) {
    const found: string[] = [];
    let after: { readonly micros: number; readonly id: string } | undefined;
    let steps = 0;
    do {
      const slice = await store.read.runLists.search(tenantId, {
        projectId,
        filter,
        sort,
        order,
        limit: 4,
        scanLimit: 1_000,
        ...(after !== undefined && { after }),
      });
      found.push(...slice.runs.map(({ row }) => row.name));
      after = slice.nextPosition;
      steps += 1;
    } while (after !== undefined);
    expect(found).toEqual(sorted);
    expect(steps).toBe(Math.max(1, Math.ceil(names.length / 4)));
  }
  const { runs } = await store.read.runs.query(tenantId, {
    filter: { ...filter, projectIds: [projectId] },
    order: "desc",
    limit: 100,
    withChildren: false,
  });
  expect(runs.map(({ row }) => row.name)).toEqual(names);
}
