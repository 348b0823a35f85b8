import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { FilterFixture } from "../../../../tests/support/filter-fixture.ts";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import type { WireObject } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import type { IngestResult, RunBatch } from "../../run-record.ts";
import { parseBatch, parseOneRun } from "../../ingest/parse-batch.ts";
import type { RunSearch } from "../../run-list.ts";
import type { RunFilter, RunQuery } from "../../run-query.ts";
import type { StoredRun } from "../../run-row.ts";
import { toRunJson } from "../../serializers/run-json.ts";

// The same batches are stored by SQLite and by PostgreSQL, and each query must have the same result on both.

let client: PgliteClient;
let postgres: PostgresRunStore;
let sqlite: FilterFixture;
beforeAll(async () => {
  // Runs without a start begin when they arrive.
  vi.useFakeTimers({ toFake: ["Date"], now: someMicros / 1_000 + 60_000 });
  client = await openPglite();
  postgres = openRunStore(client);
  sqlite = new FilterFixture();
}, 60_000);
afterAll(async () => {
  vi.useRealTimers();
  await client.close();
});

/** Two stores with the same requests, of a new tenant. */
class Pair {
  readonly tenantId: string;

  private constructor(tenantId: string) {
    this.tenantId = tenantId;
  }

  static async create(): Promise<Pair> {
    const { id } = await sqlite.writers.tenants.create({ handle: null, displayName: "pair" });
    return new Pair(id);
  }

  /** Stores a batch on both engines, and returns the result, which must be the same. */
  async store(parse: () => RunBatch): Promise<IngestResult> {
    const result = await postgres.ingest(this.tenantId, parse());
    expect(result).toEqual(sqlite.writers.runs.apply(this.tenantId, parse()));
    return result;
  }

  send(batch: { readonly post?: readonly unknown[]; readonly patch?: readonly unknown[] }) {
    return this.store(() => parseBatch(Buffer.from(JSON.stringify(batch))).batch);
  }

  sendOne(operation: "post" | "patch", run: WireObject, pathId?: string) {
    const rules = { position: "optional", ...(pathId === undefined ? {} : { pathId }) } as const;
    return this.store(() => parseOneRun(Buffer.from(JSON.stringify(run)), operation, rules).batch);
  }

  /** The ids of a project on both engines. */
  async findProject(name: string): Promise<{ readonly sqlite: string; readonly postgres: string }> {
    const query = { name, limit: 1, offset: 0 };
    const [[one], [other]] = await Promise.all([
      sqlite.readers.projects.list(this.tenantId, query),
      postgres.read.projects.list(this.tenantId, query),
    ]);
    return { sqlite: one?.id ?? "", postgres: other?.id ?? "" };
  }

  /** Runs a query of the UI's list in a project, and expects the same result. */
  async searchSame(
    project: { readonly sqlite: string; readonly postgres: string },
    search: Omit<RunSearch, "projectId">,
  ): Promise<readonly string[]> {
    const one = sqlite.readers.runLists.search(this.tenantId, {
      ...search,
      projectId: project.sqlite,
    });
    const other = await postgres.read.runLists.search(this.tenantId, {
      ...search,
      projectId: project.postgres,
    });
    expect(other.runs.map(describeRun)).toEqual(one.runs.map(describeRun));
    return other.runs.map(({ row }) => row.name);
  }

  async querySame(filter: RunFilter, rest: Partial<RunQuery> = {}): Promise<readonly StoredRun[]> {
    const query = { filter, order: "asc", limit: 100, withChildren: true, ...rest } as const;
    const one = sqlite.readers.runs.query(this.tenantId, query);
    const other = await postgres.read.runs.query(this.tenantId, query);
    expect(other.runs.map(describeRun)).toEqual(one.runs.map(describeRun));
    expect(other.nextPosition).toEqual(one.nextPosition);
    return other.runs;
  }
}

/** Everything that is stored of a run, except for the id of its project. */
function describeRun(run: StoredRun): unknown {
  const { projectId: _project, name, ...row } = run.row;
  const {
    session_id: _session,
    app_path: _path,
    ...json
  } = JSON.parse(toRunJson(run).toString()) as WireObject;
  return {
    row,
    // SQLite reads a text without lone surrogates, and up to a NUL; what was received is in the JSON.
    name: name.toWellFormed().split("\0")[0],
    json,
    project: run.projectName,
    cost: run.cost,
    attachments: run.attachments,
    children: [run.childRunIds, run.directChildRunIds],
  };
}

const check = (filter: string) => checkFilter(filter, runFields);

const fieldValue = fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: null });
const usage = fc.record({
  usage_metadata: fc.record(
    { input_tokens: fc.nat(50), output_tokens: fc.nat(50), total_cost: fc.constant(0.5) },
    { requiredKeys: ["input_tokens"] },
  ),
});
const fields = fc.record(
  {
    name: fc.option(fc.constantFrom("a", "b", "\ud800", "nul\0"), { nil: null }),
    run_type: fc.constantFrom("llm", "chain"),
    end_time: fc.option(fc.integer({ min: 1_795_255_873_000, max: 1_795_255_879_000 }), {
      nil: null,
    }),
    error: fc.option(fc.constantFrom("", "boom"), { nil: null }),
    session_name: fc.constantFrom("one", "two"),
    inputs: fieldValue,
    outputs: fc.oneof(fieldValue, usage),
    extra: fc.oneof(
      fieldValue,
      fc.record({
        metadata: fc.record(
          { ls_model_name: fc.constantFrom("gpt-4o-mini", "nobody"), user: fc.constant("u") },
          { requiredKeys: [] },
        ),
      }),
    ),
    tags: fc.oneof(fieldValue, fc.subarray(["x", "y", "é"])),
  },
  { requiredKeys: [] },
);

/** Operations on the runs of one trace, with or without their position. */
const operations = fc.array(
  fc.record({
    run: fc.nat(3),
    operation: fc.constantFrom("post" as const, "patch" as const),
    isPlaced: fc.boolean(),
    fields,
  }),
  { minLength: 1, maxLength: 8 },
);

test("batches of posts and patches in any order leave the same runs on both engines", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 4 }), async (batches) => {
      const pair = await Pair.create();
      const root = wireRun();
      const child = wireRun({ parent: root, micros: someMicros + 1 });
      const runs = [
        root,
        child,
        wireRun({ parent: child, micros: someMicros + 2 }),
        // The first segment of its dotted order is another than that of its root.
        wireRun({
          parent: { ...root, dotted_order: `20251121T101112345678Z${root.id}` },
          micros: someMicros + 3,
        }),
      ];
      for (const batch of batches) {
        const placed: { post: WireObject[]; patch: WireObject[] } = { post: [], patch: [] };
        for (const { run, operation, isPlaced, fields: values } of batch) {
          const wire = runs[run] ?? root;
          if (isPlaced) {
            placed[operation].push(
              operation === "post" ? { ...wire, ...values } : patchOf(wire, values),
            );
          } else if (operation === "patch") {
            // Sequential: the order of arrival matters.
            await pair.sendOne("patch", values, wire.id);
          }
        }
        await pair.send(placed);
      }
      await pair.querySame({});
      await pair.querySame({ traceId: root.id });
      await pair.querySame({ parentRunId: root.id });
      await pair.querySame({ runFilters: [check('has(tags, "x")')] });
    }),
    { numRuns: 60 },
  );
});

test("runs that name only their parent are placed alike", async () => {
  const pair = await Pair.create();
  const [root, child, orphan, missing] = Array.from({ length: 4 }, () => randomUUID());
  const start = { start_time: "2026-11-21T10:11:12.345678Z" };
  await pair.sendOne("post", { id: child, parent_run_id: root, ...start, name: "early" });
  await pair.sendOne("post", { id: root, ...start, name: "root" });
  await pair.sendOne("post", { id: orphan, parent_run_id: missing, trace_id: root, ...start });
  await pair.sendOne("patch", { outputs: { a: 1 }, end_time: 1_795_255_873_000 }, child);
  expect(await pair.querySame({})).toHaveLength(3);
  const [trace] = await pair.querySame({ ids: [root ?? ""] });
  expect(trace?.row.name).toBe("root");
});

test("lists, counts, facets, suggestions and statistics are the same on both engines", async () => {
  const pair = await Pair.create();
  const starts = Array.from({ length: 40 }, (_, index) => someMicros + index * 7_000_000);
  const roots = starts.map((micros, index) =>
    wireRun({
      name: `run ${index % 7}`,
      micros,
      session_name: "listed",
      run_type: index % 3 === 0 ? "llm" : "chain",
      tags: index % 5 === 0 ? ["five", "t"] : ["t"],
      ...(index % 4 === 0 ? { error: "boom" } : {}),
      ...(index % 6 === 0 ? {} : { end_time: micros / 1_000 + index * 10 }),
      extra: { metadata: { user: `u${index % 3}`, ls_model_name: "gpt-4o-mini" } },
      outputs: { usage_metadata: { input_tokens: index, output_tokens: 2 } },
    }),
  );
  const children = roots
    .slice(0, 10)
    .map((parent, index) =>
      wireRun({ parent, name: "child", session_name: "listed", micros: someMicros + index }),
    );
  await pair.send({ post: [...roots, ...children] });
  const project = await pair.findProject("listed");
  const whole = { filter: {}, sort: "start", order: "desc", limit: 200, scanLimit: 1_000 } as const;
  const searches: Omit<RunSearch, "projectId">[] = [
    whole,
    { ...whole, order: "asc", limit: 7 },
    { ...whole, sort: "latency" },
    { ...whole, sort: "latency", order: "asc", limit: 3 },
    { ...whole, filter: { isRoot: true } },
    { ...whole, filter: { hasError: true } },
    { ...whole, filter: { text: "RUN 3" } },
    { ...whole, filter: { runFilters: [check('has(tags, "five")')] } },
    {
      ...whole,
      filter: { runFilters: [check('eq(metadata.user, "u1")'), check("gt(latency, 0.1)")] },
    },
    { ...whole, filter: { runFilters: [check('eq(status, "pending")')] } },
    { ...whole, filter: { rootFilter: check('has(tags, "five")') } },
    {
      ...whole,
      filter: {
        earliestStartMicros: someMicros + 20_000_000,
        latestStartMicros: someMicros + 90_000_000,
      },
    },
  ];
  for (const search of searches) {
    expect(await pair.searchSame(project, search)).not.toEqual([]);
    const filter = { ...search.filter };
    const [one, other] = [
      sqlite.readers.runs.readStatistics(pair.tenantId, {
        ...filter,
        projectIds: [project.sqlite],
      }),
      await postgres.read.runs.readStatistics(pair.tenantId, {
        ...filter,
        projectIds: [project.postgres],
      }),
    ];
    expect(other).toEqual(one);
    expect(
      await postgres.read.runLists.countFacets(pair.tenantId, {
        ...search,
        projectId: project.postgres,
      }),
    ).toMatchObject({
      counts: sqlite.readers.runLists.countFacets(pair.tenantId, {
        ...search,
        projectId: project.sqlite,
      }).counts,
    });
    expect(
      await postgres.read.runLists.countMatches(
        pair.tenantId,
        { ...search, projectId: project.postgres },
        20_000_000,
      ),
    ).toMatchObject({
      counts: sqlite.readers.runLists.countMatches(
        pair.tenantId,
        { ...search, projectId: project.sqlite },
        20_000_000,
      ).counts,
    });
  }
  for (const isRoot of [undefined, true, false]) {
    const query = {
      isRoot,
      fromMicros: someMicros,
      toMicros: someMicros + 200_000_000,
      widthMicros: 40_000_000,
    };
    const counts = await postgres.read.runLists.countRuns(pair.tenantId, {
      ...query,
      projectId: project.postgres,
    });
    expect(counts).not.toEqual([]);
    expect(counts).toEqual(
      sqlite.readers.runLists.countRuns(pair.tenantId, { ...query, projectId: project.sqlite }),
    );
  }
  for (const kind of ["name", "run_type", "tag", "metadata_key", "metadata_value"] as const) {
    const query = { kind, key: "user", prefix: "", limit: 10 };
    const suggestions = await postgres.read.runLists.listSuggestions(pair.tenantId, {
      ...query,
      projectId: project.postgres,
    });
    expect(suggestions).not.toEqual([]);
    expect(suggestions).toEqual(
      sqlite.readers.runLists.listSuggestions(pair.tenantId, {
        ...query,
        projectId: project.sqlite,
      }),
    );
  }
  expect(await postgres.read.runLists.readStartTimeRange(pair.tenantId, project.postgres)).toEqual(
    sqlite.readers.runLists.readStartTimeRange(pair.tenantId, project.sqlite),
  );
});

test("a list is read in steps, each of which scans a limited number of runs", async () => {
  const pair = await Pair.create();
  const runs = Array.from({ length: 30 }, (_, index) =>
    wireRun({
      name: `run ${index}`,
      session_name: "steps",
      micros: someMicros + Math.floor(index / 3),
      ...(index % 10 === 0 ? { inputs: { text: "needle" } } : {}),
    }),
  );
  await pair.send({ post: runs });
  const { postgres: projectId } = await pair.findProject("steps");
  for (const order of ["asc", "desc"] as const) {
    const found: string[] = [];
    let steps = 0;
    let after: RunSearch["after"];
    do {
      const slice = await postgres.read.runLists.search(pair.tenantId, {
        projectId,
        filter: { text: "NEEDLE" },
        sort: "start",
        order,
        limit: 10,
        scanLimit: 4,
        ...(after && { after }),
      });
      found.push(...slice.runs.map(({ row }) => row.name));
      after = slice.nextPosition;
      steps += 1;
    } while (after !== undefined);
    expect(steps).toBe(8);
    expect(found.toSorted()).toEqual(["run 0", "run 10", "run 20"]);
  }
});

test("a trace is read in pages, and later only what changed", async () => {
  const pair = await Pair.create();
  const root = wireRun({ name: "root" });
  const calls = Array.from({ length: 4 }, (_, index) =>
    wireRun({
      parent: root,
      name: `call ${index}`,
      run_type: "llm",
      micros: someMicros + index,
      outputs: { usage_metadata: { input_tokens: 10, output_tokens: index } },
      extra: { metadata: { ls_model_name: "gpt-4o-mini" } },
    }),
  );
  await pair.send({ post: [root, ...calls] });
  const query = { traceId: root.id, limit: 3 };
  const first = await postgres.read.traces.readPage(pair.tenantId, query);
  const one = sqlite.readers.traces.readPage(pair.tenantId, query);
  expect(first.runs).toEqual(one.runs);
  expect(first.next).toBe(one.next);
  const second = await postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    ...(first.next === undefined ? {} : { afterId: first.next }),
  });
  expect(second.runs).toHaveLength(2);
  expect(second.next).toBeUndefined();
  expect(await postgres.read.traces.readUsage(pair.tenantId, [root.id])).toEqual(
    sqlite.readers.traces.readUsage(pair.tenantId, [root.id]),
  );
  await pair.send({ patch: [patchOf(calls[1] ?? root, { name: "changed" })] });
  const changed = await postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    since: second.mark,
  });
  expect(changed.runs.map(({ name }) => name)).toContain("changed");
  const quiet = await postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    since: changed.mark,
  });
  expect(quiet.runs).toEqual([]);
  expect(
    await postgres.read.traces.readPage(randomUUID(), { traceId: root.id, limit: 3 }),
  ).toMatchObject({ runs: [] });
});
