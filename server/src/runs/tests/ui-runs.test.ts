import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

type Server = Awaited<ReturnType<typeof runServer>>;

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A server with `count` root runs, a second apart, of `index` milliseconds each; every tenth has failed. */
async function fill(count: number): Promise<{ server: Server; session: string }> {
  const server = await runServer();
  const post = Array.from({ length: count }, (_, index) => {
    const micros = startMicros + index * 1_000_000;
    return wireRun({
      micros,
      name: `run ${index}`,
      run_type: index % 2 === 0 ? "llm" : "tool",
      session_name: "listed",
      end_time: new Date(micros / 1_000 + index).toISOString(),
      error: index % 10 === 0 ? `it failed ${"x".repeat(2_000)}` : null,
      tags: index === 7 ? ["rare", "all"] : ["all"],
      inputs: { text: index === 3 ? "a needle" : "hay" },
      extra: { metadata: { user: `user-${index % 3}`, long: "y".repeat(5_000) } },
    });
  });
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const { json } = await call(server, "GET /sessions?name=listed");
  return { server, session: textOf(json[0]?.["id"]) };
}

const search = async (server: Server, body: object): Promise<Json> =>
  (await call(server, "POST /ui/runs/search", { body })).json;

const namesOf = (response: Json): string[] =>
  (response["runs"] as unknown as readonly { name: string }[]).map(({ name }) => name);

/** Every run of a list, page by page. */
async function walk(server: Server, body: object): Promise<string[]> {
  const names: string[] = [];
  let cursor: unknown;
  do {
    const page = await search(server, { ...body, limit: 7, cursor });
    names.push(...namesOf(page));
    cursor = (page["cursors"] as unknown as { next: string | null }).next;
  } while (cursor !== null);
  return names;
}

const named = (indexes: readonly number[]): string[] => indexes.map((index) => `run ${index}`);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test("a list is read page by page, each run once, in either order", async () => {
  const { server, session } = await fill(40);
  const body = { session: [session] };
  expect(await walk(server, body)).toEqual(named(upTo(40).toReversed()));
  expect(await walk(server, { ...body, order: "asc" })).toEqual(named(upTo(40)));
  expect(await walk(server, { ...body, sort: "latency" })).toEqual(named(upTo(40).toReversed()));
});

test.each([
  ['eq(status, "error")', [30, 20, 10, 0]],
  ['and(eq(status, "error"), eq(run_type, "tool"))', []],
  ['eq(name, "run 5")', [5]],
  ['has(tags, "rare")', [7]],
  ['search("NEEDLE")', [3]],
  ['gt(latency, "37ms")', [39, 38]],
  ['or(eq(name, "run 1"), search("needle"))', [3, 1]],
])("%s finds the runs that match", async (filter, indexes) => {
  const { server, session } = await fill(40);
  expect(await walk(server, { session: [session], filter })).toEqual(named(indexes));
});

test("a time range excludes other runs, and a filter within it is applied", async () => {
  const { server, session } = await fill(40);
  const at = (index: number): string => new Date(startMicros / 1_000 + index * 1_000).toISOString();
  const body = { session: [session], start_time: at(10), end_time: at(15) };
  expect(await walk(server, body)).toEqual(named([15, 14, 13, 12, 11, 10]));
  expect(await walk(server, { ...body, filter: 'search("failed")' })).toEqual(named([10]));
});

test("long values are truncated, whatever was selected", async () => {
  const { server, session } = await fill(11);
  const select = ["name", "error", "inputs", "metadata", "tags"];
  const page = await search(server, { session: [session], select, limit: 1 });
  const [run] = page["runs"] as unknown as [Json];
  expect(textOf(run["error"])).toMatch(/^it failed x{300,}$/);
  expect(textOf(run["error"]).length).toBeLessThanOrEqual(400);
  expect(run["inputs"]).toBe('{"text":"hay"}');
  expect(textOf(run["metadata"]?.["long"])).toHaveLength(400);
  expect(run["metadata"]?.["user"]).toBe("user-1");
});

test("a search without exactly one project, and the cursor of another list, are rejected", async () => {
  const { server, session } = await fill(9);
  const one = await call(server, "POST /ui/runs/search", { body: {} });
  expect(one.status).toBe(422);
  const page = await search(server, { session: [session], limit: 2 });
  const { next } = page["cursors"] as unknown as { next: string };
  const body = { session: [session], sort: "latency", cursor: next };
  expect((await call(server, "POST /ui/runs/search", { body })).status).toBe(422);
  const none = await search(server, { session: [randomUUID()] });
  expect(none["runs"]).toEqual([]);
});

test("runs are counted over time, and the counts reflect later changes", async () => {
  const { server, session } = await fill(40);
  const counts = async (): Promise<readonly (readonly [number, number])[]> => {
    const { json } = await call(server, `GET /ui/runs/counts?session=${session}&is_root=true`);
    return (json["buckets"] as unknown as readonly { runs: number; errors: number }[]).map(
      ({ runs, errors }) => [runs, errors] as const,
    );
  };
  expect(await counts()).toEqual([
    [10, 1],
    [10, 1],
    [10, 1],
    [10, 1],
  ]);
  const open = wireRun({ micros: startMicros + 5_500_000, session_name: "listed" });
  await call(server, "POST /runs/batch", { body: { post: [open] } });
  expect((await counts())[0]).toEqual([11, 1]);
  const patch = [{ ...open, error: "it broke", end_time: new Date().toISOString() }];
  await call(server, "POST /runs/batch", { body: { patch } });
  expect((await counts())[0]).toEqual([11, 2]);
});

test("runs from before 1970 are counted in the intervals in which they began", async () => {
  const server = await runServer();
  const seconds = [-25, -20, -15, -5, 5, 15];
  const post = seconds.map((second) =>
    wireRun({ micros: second * 1_000_000, session_name: "early" }),
  );
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const project = (await call(server, "GET /sessions?name=early")).json[0];
  const counts = async (rest: string): Promise<readonly (readonly [string, number])[]> => {
    const path = `GET /ui/runs/counts?session=${textOf(project?.["id"])}${rest}`;
    const { json } = await call(server, path);
    return (json["buckets"] as unknown as readonly { start: string; runs: number }[]).map(
      ({ start, runs }) => [start.slice(0, 19), runs] as const,
    );
  };
  expect(await counts("")).toEqual([
    ["1969-12-31T23:59:30", 1],
    ["1969-12-31T23:59:40", 2],
    ["1969-12-31T23:59:50", 1],
    ["1970-01-01T00:00:00", 1],
    ["1970-01-01T00:00:10", 1],
  ]);
  expect(await counts("&buckets=2")).toEqual([
    ["1969-12-31T23:59:20", 1],
    ["1969-12-31T23:59:40", 3],
    ["1970-01-01T00:00:00", 2],
  ]);
});

test("suggestions are distinct values of the project's runs with the given prefix", async () => {
  const { server, session } = await fill(12);
  const words = async (rest: string): Promise<unknown> =>
    (await call(server, `GET /ui/runs/words?session=${session}&${rest}`)).json["words"];
  expect(await words("kind=name&prefix=run%201")).toEqual(["run 1", "run 10", "run 11"]);
  expect(await words("kind=run_type")).toEqual(["llm", "tool"]);
  expect(await words("kind=tag")).toEqual(["all", "rare"]);
  expect(await words("kind=metadata_key")).toEqual(["long", "user"]);
  expect(await words("kind=metadata_value&key=user&limit=2")).toEqual(["user-0", "user-1"]);
  const { json } = await call(server, "POST /runs/query", {
    body: { session: [session], limit: 1 },
  });
  const run_id = json["runs"]?.[0]?.["id"];
  await call(server, "POST /feedback", { body: { run_id, key: "helpful", score: 1 } });
  expect(await words("kind=feedback_key&prefix=he")).toEqual(["helpful"]);
  expect((await call(server, `GET /ui/runs/words?session=${session}&kind=nothing`)).status).toBe(
    422,
  );
});

test("an export contains every run that matches its filter, and its URL works once", async () => {
  const { server, session } = await fill(120);
  const order = async (body: object): Promise<string> => {
    const response = await call(server, "POST /ui/runs/export", {
      body: { session: [session], ...body },
    });
    return textOf(response.json["path"]);
  };
  const path = await order({ format: "jsonl", filter: 'eq(run_type, "llm")' });
  const lines = (await call(server, `GET ${path}`)).text.trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(
    named(
      upTo(120)
        .filter((index) => index % 2 === 0)
        .toReversed(),
    ),
  );
  expect((await call(server, `GET ${path}`)).status).toBe(404);
  const csv = await call(
    server,
    `GET ${await order({ format: "csv", filter: 'has(tags, "rare")' })}`,
  );
  expect(csv.headers.get("content-disposition")).toContain("attachment");
  const [head = "", row = ""] = csv.text.split("\r\n");
  expect(head).toMatch(/^id,trace_id,/);
  expect(row).toContain(",run 7,tool,success,");
});

test("the error of a filter has its position, and the field to suggest values for", async () => {
  const server = await runServer();
  const check = async (filter: string): Promise<unknown> =>
    (await call(server, "POST /ui/filters/check", { body: { of: "runs", filter } })).json["fault"];
  // The UI suggests the fields itself: the error does not list them again.
  for (const [filter, reason] of [
    ["nam = a", "unknown field `nam`, did you mean `name`?"],
    ["user.plan = pro", "unknown field `user`, did you mean `metadata.user_id`?"],
    [
      "thumbs = 1",
      'unknown field `thumbs`; write metadata.thumbs for metadata, or feedback_key = "thumbs" for feedback',
    ],
  ] as const) {
    expect(await check(filter)).toMatchObject({ reason });
  }
  for (const valid of ['eq(name, "a")', "tokens > 5", "user = u1", "  "]) {
    expect(await check(valid)).toBeNull();
  }
  expect(await check('eq(nam, "a")')).toMatchObject({ offset: 3, length: 3 });
  const { json } = await call(server, "GET /ui/filters/words");
  const fields = json["runs"]?.["fields"] as unknown as readonly {
    name: string;
    choices: string[];
  }[];
  expect(fields.find(({ name }) => name === "status")?.choices).toEqual([
    "success",
    "error",
    "pending",
  ]);
});

test("the preview of a text ends with a whole character, wherever its JSON is cut", async () => {
  const server = await runServer();
  // A backslash and a quote take two bytes of JSON each; the limit of a preview falls in, before or after one of them.
  const errors = [0, 1, 2, 3].map((shift) => `${"x".repeat(390 + shift)}${'\\"\u0001'.repeat(20)}`);
  const post = errors.map((error, index) =>
    wireRun({ micros: startMicros + index, name: `cut ${index}`, session_name: "cut", error }),
  );
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const { json } = await call(server, "GET /sessions?name=cut");
  const page = await search(server, {
    session: [textOf(json[0]?.["id"])],
    order: "asc",
    select: ["error"],
  });
  const previews = (page["runs"] as unknown as readonly { error: string }[]).map(
    ({ error }) => error,
  );
  expect(previews.map((preview, index) => errors[index]?.startsWith(preview))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(previews.every((preview) => preview.length > 390)).toBe(true);
});

test("runs that match a filter are counted over time, within a range as well", async () => {
  const { server, session } = await fill(40);
  const counts = async (filter: string, range = ""): Promise<unknown> => {
    const path = `GET /ui/runs/counts?session=${session}&filter=${encodeURIComponent(filter)}${range}`;
    const { status, json } = await call(server, path);
    expect(status).toBe(200);
    expect(json["counted_to"]).toBeNull();
    return (json["buckets"] as unknown as readonly { runs: number; errors: number }[]).map(
      ({ runs, errors }) => [runs, errors] as const,
    );
  };
  expect(await counts('eq(run_type, "llm")')).toEqual([
    [5, 1],
    [5, 1],
    [5, 1],
    [5, 1],
  ]);
  expect(await counts('eq(status, "error")')).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [1, 1],
  ]);
  expect(await counts('search("needle")')).toEqual([[1, 0]]);
  const from = new Date(startMicros / 1_000 + 20_000).toISOString();
  expect(await counts('has(tags, "all")', `&from=${from}`)).toEqual([
    [10, 1],
    [10, 1],
  ]);
  const path = `GET /ui/runs/counts?session=${session}&filter=${encodeURIComponent("eq(nam, 1)")}`;
  expect((await call(server, path)).status).toBe(422);
});

test("a list has the usage of each root's whole trace, and none for other runs", async () => {
  const server = await runServer();
  const root = wireRun({
    micros: startMicros,
    name: "root",
    session_name: "used",
    outputs: used(9),
  });
  const callModel = (index: number, tokens: number, model: string, extra: object = {}) =>
    wireRun({
      parent: root,
      micros: startMicros + index * 1_000,
      name: `call ${index}`,
      run_type: "llm",
      session_name: "used",
      extra: { metadata: { ls_model_name: model } },
      outputs: used(tokens),
      events: [{ name: "new_token", time: "2026-03-01T12:00:01.500Z" }],
      ...extra,
    });
  const failed = { outputs: undefined, events: undefined, error: "429" };
  const streamed = wireRun({ micros: startMicros - 8_000, name: "streamed", session_name: "used" });
  const post = [
    root,
    // A failed call has neither tokens nor a price.
    callModel(4, 0, "failed-model", failed),
    callModel(5, 0, "m".repeat(300), failed),
    callModel(6, 0, "alias of a chain", { ...failed, run_type: "chain" }),
    callModel(1, 1_000, "gpt-4o"),
    callModel(2, 30, "no-such-model"),
    callModel(3, 500, "gpt-4o"),
    wireRun({ micros: startMicros - 9_000, name: "unused", session_name: "used" }),
    streamed,
    wireRun({
      parent: streamed,
      micros: startMicros - 7_000,
      name: "stream",
      session_name: "used",
      events: [{ name: "new_token", time: "2026-03-01T12:00:00.250Z" }],
    }),
  ];
  await call(server, "POST /runs/batch", { body: { post } });
  const { json } = await call(server, "GET /sessions?name=used");
  const page = await search(server, {
    session: [textOf(json[0]?.["id"])],
    order: "asc",
    select: ["name", "trace_usage"],
  });
  const [unused, withoutCalls, child, first, ...calls] = page["runs"] as unknown as readonly Json[];
  expect(unused).toMatchObject({ name: "unused", trace_usage: null });
  // A run that calls no model can be streamed, too.
  expect(withoutCalls).toMatchObject({
    name: "streamed",
    trace_usage: {
      total_tokens: null,
      total_cost: null,
      models: [],
      first_token_time: "2026-03-01T12:00:00.250000Z",
      is_partial: false,
    },
  });
  expect(child).toMatchObject({ name: "stream", trace_usage: null });
  expect(first?.["trace_usage"]).toEqual({
    total_tokens: 1_530,
    total_cost: 0.00375,
    models: ["gpt-4o", "no-such-model", "failed-model"],
    first_token_time: "2026-03-01T12:00:01.500000Z",
    is_partial: false,
  });
  const trace = await call(server, `GET /ui/traces/${root.id}`);
  expect((trace.json["models"] as unknown as readonly string[]).toSorted()).toEqual(
    ["failed-model", "gpt-4o", "m".repeat(200), "no-such-model"].toSorted(),
  );
  expect(calls.map((run) => run["trace_usage"])).toEqual(calls.map(() => null));
});

const used = (tokens: number) => ({
  usage_metadata: { input_tokens: tokens, output_tokens: 0, total_tokens: tokens },
});
