import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

interface CountedFacet {
  readonly name: string;
  readonly value_count: number;
  readonly values: readonly { readonly value: string; readonly runs: number }[];
}

const idOf = (json: Json): string => JSON.stringify(json["id"]).slice(1, -1);

/** A project with 600 runs, and the counts of a search of it. */
async function createRuns() {
  const server = await runServer();
  const project = idOf((await call(server, "POST /sessions", { body: { name: "p" } })).json);
  const post = Array.from({ length: 600 }, (_, index) =>
    wireRun({
      micros: someMicros + index * 1_000,
      name: index % 3 === 0 ? "plan" : "answer",
      run_type: index % 2 === 0 ? "llm" : "tool",
      session_id: project,
      tags: index % 4 === 0 ? ["slow", "slow", "beta"] : [],
      extra: {
        metadata: {
          ls_model_name: index % 2 === 0 ? "gpt-4o" : undefined,
          // A run with both keys is counted once.
          ...(index % 3 === 0 ? {} : { user_id: `user-${index % 20}` }),
          ...(index % 3 === 1 ? {} : { langfuse_user_id: `user-${index % 20}` }),
          version: "1.2",
        },
      },
      ...(index % 5 === 0 ? { error: "no" } : {}),
      end_time: index % 6 === 1 ? undefined : new Date(someMicros / 1_000 + 1_000).toISOString(),
    }),
  );
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const count = async (body: object) => {
    const { json } = await call(server, "POST /ui/runs/facets", {
      body: { session: [project], time_limit_ms: 2_000, ...body },
    });
    const facets = json["facets"] as unknown as readonly CountedFacet[];
    return {
      json,
      facets: Object.fromEntries(
        facets.map(({ name, values }) => [
          name,
          Object.fromEntries(values.map(({ value, runs }) => [value, runs])),
        ]),
      ),
      valueCounts: Object.fromEntries(facets.map((facet) => [facet.name, facet.value_count])),
    };
  };
  return { server, project, post, count };
}

test("the values of all runs are counted, each run once for each of its values", async () => {
  const { count } = await createRuns();
  const { json, facets, valueCounts } = await count({});
  expect(json).toMatchObject({ runs: 600, counted_to: null });
  expect(facets).toMatchObject({
    name: { answer: 400, plan: 200 },
    run_type: { llm: 300, tool: 300 },
    model: { "gpt-4o": 300 },
    tag: { beta: 150, slow: 150 },
    version: { "1.2": 600 },
    status: { error: 120, pending: 80, success: 400 },
  });
  // Of twenty users, the ten with the most runs are returned.
  expect(Object.values(facets["user"] ?? {})).toEqual(Array.from({ length: 10 }, () => 30));
  expect(valueCounts["user"]).toBe(20);
});

test("a filter and a time range narrow the counts down, and each count is that of the list", async () => {
  const { server, project, count } = await createRuns();
  const body = {
    filter: 'and(eq(name, "plan"), has(tags, "slow"))',
    start_time: new Date(someMicros / 1_000 + 300).toISOString(),
  };
  const { facets, json } = await count(body);
  const list = async (filter: string): Promise<number> => {
    const request = { session: [project], ...body, limit: 100, filter };
    const { json: page } = await call(server, "POST /runs/query", { body: request });
    return (page["runs"] as unknown as readonly Json[]).length;
  };
  expect(json).toMatchObject({ runs: await list(body.filter) });
  for (const status of ["error", "success"]) {
    const expected = await list(`and(${body.filter}, eq(status, "${status}"))`);
    expect(facets["status"]?.[status]).toBe(expected);
  }
  expect(facets["model"]?.["gpt-4o"]).toBe(await list(`and(${body.filter}, eq(model, "gpt-4o"))`));
});

test("a property with a filter of its own is counted with it, the others with that of the list", async () => {
  const { server, project, count } = await createRuns();
  const others = 'has(tags, "slow")';
  const filter = `and(eq(name, "plan"), ${others})`;
  const { facets, json } = await count({ filter, facets: [{ name: "name", filter: others }] });
  const withoutName = await count({ filter: others });
  const narrow = await count({ filter });
  expect(facets["name"]).toEqual(withoutName.facets["name"]);
  expect(facets["name"]).toEqual({ answer: 100, plan: 50 });
  expect({ ...facets, name: {} }).toEqual({ ...narrow.facets, name: {} });
  expect(json).toMatchObject({ runs: 50, counted_to: null });
  const entries = json["facets"] as unknown as readonly CountedFacet[];
  expect(entries.filter((entry) => "counted_to" in entry)).toMatchObject([
    { name: "name", counted_to: null },
  ]);
  const invalid = { session: [project], facets: [{ name: "name", filter: "eq(name" }] };
  const unknown = { session: [project], facets: [{ name: "no facet" }] };
  for (const body of [invalid, unknown]) {
    expect((await call(server, "POST /ui/runs/facets", { body })).status).toBe(422);
  }
});

test("another tenant's runs are not counted", async () => {
  const { project } = await createRuns();
  const other = await runServer();
  const { json } = await call(other, "POST /ui/runs/facets", { body: { session: [project] } });
  expect(json).toMatchObject({ runs: 0 });
});

test("an invalid filter is refused with the reason", async () => {
  const { server, project } = await createRuns();
  const body = { session: [project], filter: "eq(name" };
  expect(await call(server, "POST /ui/runs/facets", { body })).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(/^filter: /) as string },
  });
});

test("a list of traces counts the models of all runs of a trace, and the filter finds these traces", async () => {
  const server = await runServer();
  const project = idOf((await call(server, "POST /sessions", { body: { name: "p" } })).json);
  const other = idOf((await call(server, "POST /sessions", { body: { name: "other" } })).json);
  const toModel = (name: string) => ({ metadata: { ls_model_name: name } });
  const post = Array.from({ length: 6 }, (_, index) => {
    const root = wireRun({ micros: someMicros + index * 1_000, session_id: project });
    const child = (model: string, rest: object = {}) =>
      wireRun({
        parent: root,
        micros: someMicros + index * 1_000,
        run_type: "llm",
        session_id: project,
        extra: toModel(model),
        ...rest,
      });
    return [
      root,
      child("gpt-5"),
      child("gpt-5"),
      ...(index % 2 === 0 ? [child("claude", { session_id: other })] : []),
      // A chain only repeats the model of the calls below it.
      child("alias", { run_type: "chain" }),
    ];
  }).flat();
  const alone = wireRun({ run_type: "llm", session_id: project, extra: toModel("gpt-5") });
  post.push(alone);
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const count = async (body: object) => {
    const { json } = await call(server, "POST /ui/runs/facets", {
      body: { session: [project], ...body },
    });
    const facets = json["facets"] as unknown as readonly CountedFacet[];
    const [model, traceModel] = ["model", "trace_model"].map(
      (name) => facets.find((facet) => facet.name === name)?.values,
    );
    return { runs: json["runs"], model, traceModel };
  };
  const counts = await count({ is_root: true });
  expect(counts).toEqual({
    runs: 7,
    model: [],
    traceModel: [
      { value: "gpt-5", runs: 7 },
      { value: "claude", runs: 3 },
    ],
  });
  for (const { value, runs } of counts.traceModel ?? []) {
    for (const filter of [`eq(trace_model, "${value}")`, `model = "${value}"`]) {
      expect((await count({ is_root: true, filter })).runs).toBe(runs);
      const query = new URLSearchParams({ session: project, is_root: "true", filter });
      const counted = (await call(server, `GET /ui/runs/counts?${query.toString()}`)).json;
      const buckets = counted["buckets"] as unknown as readonly { readonly runs: number }[];
      expect(buckets.reduce((sum, bucket) => sum + bucket.runs, 0)).toBe(runs);
      const search = { session: [project], is_root: true, filter };
      const found = await call(server, "POST /ui/runs/search", { body: search });
      expect(found.json["runs"]).toHaveLength(runs);
    }
  }
  // Of the traces, one consists of a call alone, and all of the others have calls.
  for (const [filter, runs] of [
    ["model = null", 0],
    ["model != null", 7],
    ["eq(trace_model, null)", 0],
  ] as const) {
    expect((await count({ is_root: true, filter })).runs).toBe(runs);
  }
  // In a list of all runs, `model` is the model of the run itself.
  expect((await count({ filter: "model = gpt-5" })).runs).toBe(13);
  expect(await count({})).toMatchObject({
    model: [
      { value: "gpt-5", runs: 13 },
      { value: "alias", runs: 6 },
    ],
    traceModel: [],
  });
});

test("a count ends after the time limit of the request, and says how far it came", async () => {
  const { server, project, post, count } = await createRuns();
  const { json } = await count({ time_limit_ms: 1 });
  expect(json["runs"]).toBeGreaterThan(0);
  expect(json["runs"]).toBeLessThan(post.length);
  expect(json["counted_to"]).toMatch(/Z$|\+00:00$/);
  const tooLong = { session: [project], time_limit_ms: 2_001 };
  const { status } = await call(server, "POST /ui/runs/facets", { body: tooLong });
  expect(status).toBe(422);
});
