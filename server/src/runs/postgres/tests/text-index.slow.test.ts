import { randomUUID } from "node:crypto";
import { array, assert, asyncProperty, boolean, constantFrom, record } from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { patchOf, StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import { parseBatch } from "../../ingest/parse-batch.ts";
import type { RunSearch } from "../../run-list.ts";
import type { RunFilter } from "../../run-query.ts";
import { TextIndexer } from "../text-index/text-indexer.ts";

let client: PgliteClient;
let store: PostgresRunStore;
beforeAll(async () => {
  client = await openPglite();
  store = openRunStore(client);
}, 60_000);
afterAll(() => client.close());

/** Indexes all runs of the database. */
async function indexAll(): Promise<void> {
  const indexer = new TextIndexer(store.db, { settleMs: 0, minRuns: 1, maxWaitMs: 60_000 });
  let isDone = false;
  while (!isDone) {
    isDone = !(await store.transact(() => indexer.step()));
  }
}

async function count(sql: string, tenantId: string): Promise<number> {
  const { rows } = await store.db.query<{ readonly count: number }>(sql, [tenantId]);
  return rows[0]?.count ?? 0;
}

const blocksSql = "SELECT count(*) AS count FROM run_texts WHERE owner_id = $1";
const placesSql =
  "SELECT count(*) AS count FROM run_texts b CROSS JOIN unnest(b.places) WHERE owner_id = $1";

class Project {
  readonly fixture = new StoreFixture(store, randomUUID());
  readonly tenantId = this.fixture.tenantId;

  async findId(): Promise<string> {
    const [project] = await store.read.projects.list(this.tenantId, {
      name: "p",
      limit: 1,
      offset: 0,
    });
    return project?.id ?? "";
  }

  async step(filter: Omit<RunFilter, "projectIds">, rest: Partial<RunSearch> = {}) {
    const { runs, nextPosition } = await store.read.runLists.search(this.tenantId, {
      projectId: await this.findId(),
      filter,
      sort: "start",
      order: "desc",
      limit: 50,
      scanLimit: 1_000,
      ...rest,
    });
    return { names: runs.map(({ row }) => row.name), nextPosition };
  }

  /** The names of all runs of a list, page by page. */
  async list(
    filter: Omit<RunFilter, "projectIds">,
    rest: Partial<RunSearch> = {},
  ): Promise<readonly string[]> {
    const names: string[] = [];
    let after: RunSearch["after"];
    for (;;) {
      const slice = await this.step(filter, { ...rest, ...(after && { after }) });
      names.push(...slice.names);
      if (slice.nextPosition === undefined) {
        return names;
      }
      after = slice.nextPosition;
    }
  }
}

const toFilter = (text: string) => checkFilter(text, runFields);

test("a text is found with the index as it is without, in both orders, page by page", async () => {
  const words = [
    "Refund",
    "parcel",
    "ünïcode",
    'quo"te',
    "line\nbreak",
    "日本語の本",
    "re",
    "100%",
  ];
  const runArbitrary = record({
    words: array(constantFrom(...words), { maxLength: 4 }),
    isPatched: boolean(),
    second: constantFrom(0, 0, 1, 2, 500, 90_000),
  });
  await assert(
    asyncProperty(array(runArbitrary, { minLength: 1, maxLength: 30 }), async (described) => {
      const project = new Project();
      const wires = described.map(({ words: list, second }, index) =>
        wireRun({
          micros: someMicros + second * 1_000_000 + index,
          session_name: "p",
          name: `n${index}`,
          inputs: { text: list.join(" ") },
        }),
      );
      const half = Math.ceil(wires.length / 2);
      await project.fixture.send({ post: wires.slice(0, half) });
      await indexAll();
      await project.fixture.send({ post: wires.slice(half) });
      const patches = wires.flatMap((wire, index) =>
        described[index]?.isPatched === true
          ? [patchOf(wire, { outputs: { text: "Patched with PARCEL" } })]
          : [],
      );
      const startOf = (index: number): number =>
        (described[index]?.second ?? 0) * 1_000_000 + index;
      const order = wires
        .map((_wire, index) => ({ index }))
        .toSorted((a, b) => startOf(b.index) - startOf(a.index));
      const expectFound = async (): Promise<void> => {
        for (const text of [
          "REFUND",
          "arcel",
          "ünï",
          'o"t',
          "e\nb",
          "本語の",
          "re",
          "patched with",
          "absent",
        ]) {
          const names = order
            .filter(({ index }) => {
              const run = described[index];
              const patch = isPatchSent && run?.isPatched === true ? "Patched with PARCEL" : "";
              return [`n${index}`, run?.words.join(" "), patch].some((content) =>
                content?.toLowerCase().includes(text.toLowerCase()),
              );
            })
            .map(({ index }) => `n${index}`);
          const filter = { runFilters: [toFilter(`search(${JSON.stringify(text)})`)] };
          for (const limit of [7, 50]) {
            expect(await project.list({ text }, { limit })).toEqual(names);
            expect(await project.list(filter, { limit })).toEqual(names);
            expect(await project.list(filter, { limit, order: "asc" })).toEqual(names.toReversed());
          }
        }
      };
      let isPatchSent = false;
      await expectFound();
      await project.fixture.send({ patch: patches });
      isPatchSent = true;
      await expectFound();
      await indexAll();
      await expectFound();
    }),
    { numRuns: 3 },
  );
}, 120_000);

test("one step finds a rare text beyond the runs that it scans", async () => {
  const project = new Project();
  const runs = Array.from({ length: 1_300 }, (_, index) =>
    wireRun({
      micros: someMicros + index * 1_000_000,
      session_name: "p",
      name: `n${index}`,
      inputs: { text: index % 600 === 7 ? "a rare needle" : "nothing to see here" },
    }),
  );
  await project.fixture.send({ post: runs });
  const { names: scanned } = await project.step({ text: "needle" }, { scanLimit: 500 });
  expect(scanned).toEqual(["n1207", "n607", "n7"]);
  await indexAll();
  expect(await project.step({ text: "RARE needle" }, { scanLimit: 500 })).toEqual({
    names: ["n1207", "n607", "n7"],
    nextPosition: undefined,
  });
  expect(await count(placesSql, project.tenantId)).toBe(1_300);
  expect(await count(blocksSql, project.tenantId)).toBeLessThan(60);
});

test.each(["without an index", "with an index"])(
  "a text is found whatever escapes its JSON has, %s",
  async (title) => {
    const project = new Project();
    const json = [
      String.raw`{"text": "a \u0052efund"}`,
      String.raw`{"text": "a \/ refund"}`,
      String.raw`{"text": "a \"refund\""}`,
      String.raw`{"text": "re\tfund"}`,
    ];
    const post = json.map((_inputs, index) =>
      wireRun({
        micros: someMicros + index,
        session_name: "p",
        name: `n${index}`,
        inputs: `#${index}`,
      }),
    );
    const body = json.reduce(
      (text, inputs, index) => text.replace(`"#${index}"`, inputs),
      JSON.stringify({ post }),
    );
    const { batch } = parseBatch(Buffer.from(body));
    await store.ingest(project.tenantId, batch);
    if (title === "with an index") {
      await indexAll();
    }
    const expected = {
      'search("refund")': ["n2", "n1", "n0"],
      'search("/ refund")': ["n1"],
      [String.raw`search("a \"refund")`]: ["n2"],
      [String.raw`search("re\tfund")`]: ["n3"],
      'like(input_value, "%a Refund%")': ["n0"],
      'not(search("refund"))': ["n3"],
    };
    for (const [filter, names] of Object.entries(expected)) {
      const found = await project.list({ runFilters: [toFilter(filter)] });
      expect({ filter, names: found }).toEqual({ filter, names });
    }
  },
);

test("the index forgets deleted runs and projects, and keeps the other runs of their blocks", async () => {
  const project = new Project();
  const runs = ["first", "second", "third"].map((name, index) =>
    wireRun({
      micros: someMicros + index,
      session_name: "p",
      name,
      inputs: { text: `of ${name}` },
    }),
  );
  await project.fixture.send({ post: runs });
  await indexAll();
  expect(await count(blocksSql, project.tenantId)).toBe(1);
  await store.write.runs.deleteTrees(project.tenantId, [String(runs[1]?.id)]);
  expect(await project.list({ text: "of second" })).toEqual([]);
  await indexAll();
  expect(await count(placesSql, project.tenantId)).toBe(2);
  expect(await project.list({ text: "of third" })).toEqual(["third"]);
  const grams = await store.db.query<{ readonly grams: readonly number[] }>(
    "SELECT grams FROM run_texts WHERE owner_id = $1",
    [project.tenantId],
  );
  await store.write.projects.deleteMany(project.tenantId, [await project.findId()]);
  await indexAll();
  expect(grams.rows).toHaveLength(1);
  expect(await count(blocksSql, project.tenantId)).toBe(0);
  expect(
    await count(
      "SELECT count(*) AS count FROM text_removals WHERE tenant_id = $1",
      project.tenantId,
    ),
  ).toBe(0);
});

test("runs that are being written, or few, are not indexed yet, and found all the same", async () => {
  const project = new Project();
  await indexAll();
  await project.fixture.send({ post: [wireRun({ session_name: "p", name: "lonely" })] });
  const waiting = new TextIndexer(store.db, { settleMs: 0, minRuns: 2, maxWaitMs: 60_000 });
  const unsettled = new TextIndexer(store.db, { settleMs: 60_000, minRuns: 1, maxWaitMs: 60_000 });
  for (const indexer of [waiting, unsettled]) {
    expect(await store.transact(() => indexer.step())).toBe(false);
  }
  expect(await count(blocksSql, project.tenantId)).toBe(0);
  expect(await project.list({ text: "lone" })).toEqual(["lonely"]);
  await indexAll();
  expect(await count(blocksSql, project.tenantId)).toBe(1);
});

test("tenants do not find each other's texts", async () => {
  const [one, other] = [new Project(), new Project()];
  for (const project of [one, other]) {
    await project.fixture.send({ post: [wireRun({ session_name: "p", name: `secret` })] });
  }
  await indexAll();
  const projectId = await one.findId();
  expect(await other.step({ text: "secret" }, { projectId })).toMatchObject({ names: [] });
  expect(await one.list({ text: "secret" })).toEqual(["secret"]);
});

test("one step finds rare runs beyond those that it scans, by name, type, metadata, latency and status", async () => {
  const project = new Project();
  await project.fixture.send({ post: [wireRun({ session_name: "p", name: "common" })] });
  // Ten thousand runs like the first one, later than all others.
  await client.exec(
    `INSERT INTO runs (tenant_id, root_us, trace_id, id, project_id, name, run_type, start_us, end_us, has_error, dotted_order,
         posted, patched, measured, facets, place)
       SELECT tenant_id, root_us, 't' || g, 'r' || g, project_id, name, run_type, start_us + g * 1000000::bigint, start_us + g * 1000000::bigint + 1000,
         0, '', 1, 0, 1, facets, place + g
       FROM runs CROSS JOIN generate_series(1, 10100) g WHERE tenant_id = '${project.tenantId}'`,
  );
  const toIso = (micros: number): string => new Date(micros / 1_000).toISOString();
  const early = someMicros - 60_000_000;
  await project.fixture.send({
    post: [
      wireRun({
        micros: early,
        session_name: "p",
        name: "rare",
        run_type: "parser",
        extra: { metadata: { plan: "gold" } },
        end_time: toIso(early + 90_000_000),
      }),
      wireRun({ micros: early + 1, session_name: "p", name: "open" }),
    ],
  });
  const search = async (filter: string) =>
    project.step({ runFilters: [toFilter(filter)] }, { scanLimit: 1_000 });
  const complete = (name: string) => ({ names: [name], nextPosition: undefined });
  expect(await search('eq(name, "rare")')).toEqual(complete("rare"));
  expect(await search('eq(run_type, "parser")')).toEqual(complete("rare"));
  expect(await search('and(eq(metadata_key, "plan"), eq(metadata_value, "gold"))')).toEqual(
    complete("rare"),
  );
  expect(await search('gt(latency, "60s")')).toEqual(complete("rare"));
  expect(await search('and(eq(status, "pending"), eq(name, "open"))')).toEqual(complete("open"));
  expect(await search('eq(name, "absent")')).toEqual({ names: [], nextPosition: undefined });
  expect(await project.step({ runType: "parser" })).toEqual(complete("rare"));
  const plans = await explainAsPlainLogin(project, ['eq(name, "rare")', 'gt(latency, "60s")']);
  // The index of latencies is one of the project, so it is a matter of costs which of these is read.
  expect(
    plans.map((plan) => /Index Cond: \(.*(facets &&|end_us - start_us)/.exec(plan)?.[1]),
  ).toEqual(["facets &&", "end_us - start_us"]);
  // The runs of the page come from the scan first, and then from the index.
  expect(
    (await project.list({ runFilters: [toFilter('eq(name, "common")')] }, { limit: 200 })).length,
  ).toBe(10_101);
}, 120_000);

/**
 * Returns the plans of the queries by which an index finds the runs of filters, for a login that is no superuser:
 * PostgreSQL uses fewer indexes where it has to hide the rows of other tenants.
 */
async function explainAsPlainLogin(
  project: Project,
  filters: readonly string[],
): Promise<readonly string[]> {
  const plans: string[] = [];
  const observed = openRunStore({
    exec: (statement) => client.exec(statement),
    run: async (statement) => {
      if (statement.text.includes("found AS MATERIALIZED")) {
        const { rows } = await client.run({
          text: `EXPLAIN ${statement.text}`,
          values: statement.values,
        });
        plans.push(rows.map((row) => String(row["QUERY PLAN"])).join("\n"));
      }
      return client.run(statement);
    },
  });
  const projectId = await project.findId();
  await client.exec(
    `ANALYZE runs; CREATE ROLE plain; GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain; SET ROLE plain;
     SET enable_seqscan = off; SET millrace.tenant = '${project.tenantId}'`,
  );
  try {
    for (const filter of filters) {
      await observed.read.runLists.search(project.tenantId, {
        projectId,
        filter: { runFilters: [toFilter(filter)] },
        sort: "start",
        order: "desc",
        limit: 50,
        scanLimit: 1_000,
      });
    }
  } finally {
    await client.exec("RESET ROLE; RESET enable_seqscan; RESET millrace.tenant");
  }
  return plans;
}
