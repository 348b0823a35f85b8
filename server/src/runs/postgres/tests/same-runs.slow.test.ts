import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { EnginePairs } from "../../../../tests/support/engine-pairs.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import type { WireObject } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import type { RunSearch } from "../../run-list.ts";

// The same batches are stored by SQLite and by PostgreSQL, and each query must have the same result on both.

let pairs: EnginePairs;
beforeAll(async () => {
  pairs = await EnginePairs.open();
}, 60_000);
afterAll(() => pairs.close());

const check = (filter: string) => checkFilter(filter, runFields);

const fieldValue = fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: null });
const usage = fc.record({
  usage_metadata: fc.record(
    {
      input_tokens: fc.integer({ min: -9, max: 50 }),
      output_tokens: fc.nat(50),
      total_cost: fc.constant(0.5),
    },
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
      const pair = await pairs.create();
      const root = wireRun();
      const child = wireRun({ parent: root, micros: someMicros + 1 });
      const runs = [
        root,
        child,
        wireRun({ parent: child, micros: someMicros + 2 }),
        // The first segment of the dotted order differs from that of the root.
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
    { numRuns: 30 },
  );
}, 180_000);

test("runs that name only their parent are placed the same on both engines", async () => {
  const pair = await pairs.create();
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
  const pair = await pairs.create();
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
      pairs.sqlite.readers.runs.readStatistics(pair.tenantId, {
        ...filter,
        projectIds: [project.sqlite],
      }),
      await pairs.postgres.read.runs.readStatistics(pair.tenantId, {
        ...filter,
        projectIds: [project.postgres],
      }),
    ];
    expect(other).toEqual(one);
    for (const hasResults of [true, false]) {
      const [ofSqlite, ofPostgres] = [
        pairs.sqlite.readers.runs.readProjectStatistics(pair.tenantId, {
          projectId: project.sqlite,
          hasResults,
        }),
        await pairs.postgres.read.runs.readProjectStatistics(pair.tenantId, {
          projectId: project.postgres,
          hasResults,
        }),
      ];
      expect(ofPostgres).toEqual(ofSqlite);
      const projectIds = [project.sqlite];
      const all = pairs.sqlite.readers.runs.readStatistics(pair.tenantId, { projectIds });
      const ofRoots = pairs.sqlite.readers.runs.readStatistics(pair.tenantId, {
        projectIds,
        isRoot: true,
      });
      const { runCount, errorCount, latency, lastStartMicros } = hasResults ? ofRoots : all;
      expect(ofSqlite).toEqual({ ...all, runCount, errorCount, latency, lastStartMicros });
      expect(runCount).toBeGreaterThan(0);
    }
    expect(
      await pairs.postgres.read.runLists.countFacets(pair.tenantId, {
        ...search,
        projectId: project.postgres,
      }),
    ).toMatchObject({
      counts: pairs.sqlite.readers.runLists.countFacets(pair.tenantId, {
        ...search,
        projectId: project.sqlite,
      }).counts,
    });
    expect(
      await pairs.postgres.read.runLists.countMatches(
        pair.tenantId,
        { ...search, projectId: project.postgres },
        20_000_000,
      ),
    ).toMatchObject({
      counts: pairs.sqlite.readers.runLists.countMatches(
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
    const counts = await pairs.postgres.read.runLists.countRuns(pair.tenantId, {
      ...query,
      projectId: project.postgres,
    });
    expect(counts).not.toEqual([]);
    expect(counts).toEqual(
      pairs.sqlite.readers.runLists.countRuns(pair.tenantId, {
        ...query,
        projectId: project.sqlite,
      }),
    );
  }
  for (const kind of ["name", "run_type", "tag", "metadata_key", "metadata_value"] as const) {
    const query = { kind, key: "user", prefix: "", limit: 10 };
    const suggestions = await pairs.postgres.read.runLists.listSuggestions(pair.tenantId, {
      ...query,
      projectId: project.postgres,
    });
    expect(suggestions).not.toEqual([]);
    expect(suggestions).toEqual(
      pairs.sqlite.readers.runLists.listSuggestions(pair.tenantId, {
        ...query,
        projectId: project.sqlite,
      }),
    );
  }
  expect(
    await pairs.postgres.read.runLists.readStartTimeRange(pair.tenantId, project.postgres),
  ).toEqual(pairs.sqlite.readers.runLists.readStartTimeRange(pair.tenantId, project.sqlite));
});

test("a list is read in steps, each of which scans a limited number of runs", async () => {
  const pair = await pairs.create();
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
      const slice = await pairs.postgres.read.runLists.search(pair.tenantId, {
        projectId,
        // The text is too short for the text index, which would find the runs in one step.
        filter: { text: "EE" },
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
  const pair = await pairs.create();
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
  const first = await pairs.postgres.read.traces.readPage(pair.tenantId, query);
  const one = pairs.sqlite.readers.traces.readPage(pair.tenantId, query);
  expect(first.columns).toEqual(one.columns);
  expect(first.columns.models).toContain("gpt-4o-mini");
  expect(first.next).toBe(one.next);
  const second = await pairs.postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    ...(first.next === undefined ? {} : { afterId: first.next }),
  });
  expect(second.columns.ids).toHaveLength(2);
  expect(second.next).toBeUndefined();
  expect(await pairs.postgres.read.traces.readUsage(pair.tenantId, [root.id])).toEqual(
    pairs.sqlite.readers.traces.readUsage(pair.tenantId, [root.id]),
  );
  await pair.send({ patch: [patchOf(calls[1] ?? root, { name: "changed" })] });
  const changed = await pairs.postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    since: second.mark,
  });
  expect(changed.columns.names).toContain("changed");
  const quiet = await pairs.postgres.read.traces.readPage(pair.tenantId, {
    ...query,
    since: changed.mark,
  });
  expect(quiet.columns.ids).toEqual([]);
  expect(
    await pairs.postgres.read.traces.readPage(randomUUID(), { traceId: root.id, limit: 3 }),
  ).toMatchObject({ columns: { ids: [] } });
});
