import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from "fast-check";
import { threadKeys } from "millrace/model";
import { expect, test } from "vitest";
import { call, runOwnServer, runServer, textOf } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

type Server = Awaited<ReturnType<typeof runServer>>;
type Fields = Readonly<Record<string, unknown>>;

const startMicros = Date.parse("2026-03-01T12:00:00Z") * 1_000;
const secondMicros = 1_000_000;

/** A run of a thread that starts `second` seconds after the first one. */
const turn = (thread: string | undefined, second: number, fields: Fields = {}) =>
  wireRun({
    micros: startMicros + second * secondMicros,
    session_name: "chats",
    end_time: new Date(startMicros / 1_000 + second * 1_000 + 500).toISOString(),
    ...(thread === undefined ? {} : { extra: { metadata: { thread_id: thread } } }),
    ...fields,
  });

async function send(
  server: Server,
  batch: { post?: readonly Fields[]; patch?: readonly Fields[] },
) {
  const { status } = await call(server, "POST /runs/batch", { body: batch });
  expect(status).toBe(202);
}

async function findSession(server: Server): Promise<string> {
  const { json } = await call(server, "GET /sessions?name=chats");
  return textOf(json[0]?.["id"]);
}

interface ListedThread {
  readonly id: string;
  readonly turn_count: number;
  readonly error_count: number;
  readonly last_start_time: string;
  readonly total_tokens: number | null;
  readonly total_cost: string | null;
  readonly last_message: { readonly source: string; readonly text: string } | null;
  readonly feedback_stats: Readonly<Record<string, { readonly n: number; readonly avg: number }>>;
}

interface ThreadList {
  readonly threads: readonly ListedThread[];
  readonly is_partial: boolean;
}

/** All threads of the project, page by page. */
async function listThreads(server: Server, parameters = "limit=3"): Promise<ThreadList> {
  const session = await findSession(server);
  const threads: ListedThread[] = [];
  let cursor: unknown = "";
  let isPartial = false;
  do {
    const path = `/ui/threads?session=${session}&${parameters}&cursor=${String(cursor)}`;
    const { json, status } = await call(server, `GET ${path}`);
    expect(status).toBe(200);
    const page = json as unknown as ThreadList & { readonly cursors: { next: string | null } };
    threads.push(...page.threads);
    isPartial ||= page.is_partial;
    cursor = page.cursors.next;
  } while (cursor !== null);
  return { threads, is_partial: isPartial };
}

async function listTurns(server: Server, thread: string, parameters = ""): Promise<Json> {
  const session = await findSession(server);
  const query = new URLSearchParams({ session, thread });
  return (await call(server, `GET /ui/threads/turns?${query.toString()}${parameters}`)).json;
}

const namesOf = (response: Json): readonly string[] =>
  (response["turns"] as unknown as readonly { name: string }[]).map(({ name }) => name);

test("traces are grouped by the id in their metadata, under any of its names", async () => {
  const server = await runServer();
  const post = threadKeys.flatMap((key, index) => {
    const extra = { metadata: { [key]: `by ${key}` } };
    return [
      turn(undefined, index * 10, { name: `first ${key}`, extra }),
      turn(undefined, index * 10 + 5, { name: `second ${key}`, extra }),
    ];
  });
  await send(server, { post: [...post, turn(undefined, 100, { name: "of no thread" })] });
  const { threads, is_partial: isPartial } = await listThreads(server);
  expect(isPartial).toBe(false);
  expect(threads.map(({ id, turn_count: count }) => [id, count])).toEqual(
    threadKeys.toReversed().map((key) => [`by ${key}`, 2]),
  );
  for (const key of threadKeys) {
    const turns = await listTurns(server, `by ${key}`);
    expect(namesOf(turns)).toEqual([`first ${key}`, `second ${key}`]);
    expect(turns["turn_count"]).toBe(2);
  }
});

test("a thread has the usage of its traces, the feedback on its turns, its errors and its last message", async () => {
  const server = await runServer();
  const first = turn("t", 0, { outputs: { messages: [{ role: "assistant", content: "Hello" }] } });
  const model = wireRun({
    parent: first,
    micros: startMicros + 1_000,
    session_name: "chats",
    run_type: "llm",
    extra: { metadata: { thread_id: "t" } },
    outputs: {
      usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7, total_cost: 0.25 },
    },
  });
  const second = turn("t", 60, {
    error: "TimeoutError: no answer\n    at call",
    inputs: { text: "And now?" },
  });
  await send(server, { post: [first, model, second] });
  for (const [run, score] of [
    [first, 1],
    [second, 0],
  ] as const) {
    await call(server, "POST /feedback", { body: { run_id: run.id, key: "helpful", score } });
  }
  const { threads } = await listThreads(server);
  expect(threads).toEqual([
    expect.objectContaining({
      id: "t",
      turn_count: 2,
      error_count: 1,
      first_start_time: "2026-03-01T12:00:00.000000Z",
      last_start_time: "2026-03-01T12:01:00.000000Z",
      total_tokens: 7,
      total_cost: "0.25",
      last_message: { source: "error", text: "TimeoutError: no answer" },
      feedback_stats: { helpful: { n: 2, avg: 0.5, values: {} } },
    }),
  ]);
  const turns = (await listTurns(server, "t"))["turns"] as unknown as readonly Json[];
  expect(turns).toEqual([
    expect.objectContaining({
      run_id: first.id,
      trace_id: first.id,
      status: "success",
      total_tokens: 7,
    }),
    expect.objectContaining({ run_id: second.id, status: "error", total_tokens: null }),
  ]);
  expect(turns[0]?.["feedback_stats"]).toEqual({ helpful: { n: 1, avg: 1, values: {} } });
});

test("a turn whose root names no thread is the first run of the trace that names one", async () => {
  const server = await runServer();
  const root = turn(undefined, 0, { name: "request" });
  const childOf = (parent: ReturnType<typeof wireRun>, millis: number, fields: Fields) =>
    wireRun({
      parent,
      micros: startMicros + millis * 1_000,
      session_name: "chats",
      extra: { metadata: { session_id: "inner" } },
      ...fields,
    });
  const chat = childOf(root, 300, { name: "chat" });
  const later = childOf(root, 700, { name: "later" });
  const below = childOf(chat, 301, { name: "below" });
  await send(server, { post: [later, below, chat, root] });
  expect((await listThreads(server)).threads.map(({ id, turn_count: n }) => [id, n])).toEqual([
    ["inner", 1],
  ]);
  expect(namesOf(await listTurns(server, "inner"))).toEqual(["chat"]);
});

test("the last message of a turn that runs is its question; an answer replaces it", async () => {
  const server = await runServer();
  const run = turn("open", 0, {
    end_time: undefined,
    inputs: { messages: [{ role: "user", content: "Where is my order?" }] },
  });
  await send(server, { post: [run] });
  const readMessage = async () => (await listThreads(server)).threads[0]?.last_message;
  expect(await readMessage()).toEqual({ source: "inputs", text: "Where is my order?" });
  const outputs = { choices: [{ message: { role: "assistant", content: "On its way." } }] };
  await send(server, { patch: [patchOf(run, { outputs, end_time: "2026-03-01T12:00:05Z" })] });
  expect(await readMessage()).toEqual({ source: "outputs", text: "On its way." });
});

test("a patch moves a turn to another thread, and a thread without turns is not listed", async () => {
  const server = await runServer();
  const run = turn("before", 0);
  await send(server, { post: [run] });
  await send(server, { patch: [patchOf(run, { extra: { metadata: { thread_id: "after" } } })] });
  expect((await listThreads(server)).threads.map(({ id }) => id)).toEqual(["after"]);
  expect((await listTurns(server, "before"))["turn_count"]).toBe(0);
  expect((await listTurns(server, "after"))["turn_count"]).toBe(1);
});

test("runs with too much metadata for the index still belong to their thread", async () => {
  const server = await runServer();
  const much = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`k${index}`, "v"]));
  const many = (thread: string, second: number) =>
    turn(undefined, second, { extra: { metadata: { ...much, thread_id: thread } } });
  await send(server, { post: [turn("both", 0), many("both", 20), many("only", 10)] });
  const { threads } = await listThreads(server, "limit=1");
  expect(threads.map(({ id, turn_count: n }) => [id, n])).toEqual([
    ["both", 2],
    ["only", 1],
  ]);
});

test.each([
  ["a right-to-left override", "user\u202Egnp.exe"],
  ["slashes and dots", "../../etc/passwd?x=1#y"],
  ["quotes and brackets", `"'<script>alert(1)</script>`],
  ["an emoji and a line break", "👩‍💻\nsecond line"],
  ["a NUL", "a\u0000b"],
  ["an equals sign and a wildcard", "k=*%_"],
])("an id with %s is listed and read as it is", async (_name, id) => {
  const server = await runServer();
  await send(server, { post: [turn(id, 0, { name: "hostile" }), turn("other", 1)] });
  expect((await listThreads(server)).threads.map((thread) => thread.id)).toEqual(["other", id]);
  expect(namesOf(await listTurns(server, id))).toEqual(["hostile"]);
});

test("the list can be narrowed to ids that contain a text, and skips ids that are not texts", async () => {
  const server = await runServer();
  const numeric = turn(undefined, 5, { extra: { metadata: { thread_id: 17 } } });
  await send(server, { post: [turn("user-1", 0), turn("user-12", 1), turn("bot", 2), numeric] });
  const idsOf = async (text: string) =>
    (await listThreads(server, `limit=1&text=${text}`)).threads.map(({ id }) => id);
  expect(await idsOf("user")).toEqual(["user-12", "user-1"]);
  expect(await idsOf("")).toEqual(["bot", "user-12", "user-1"]);
  expect(await idsOf("nobody")).toEqual([]);
});

test("turns are read in pages", async () => {
  const server = await runServer();
  const post = Array.from({ length: 25 }, (_, index) => turn("long", index, { name: `${index}` }));
  await send(server, { post });
  const page = await listTurns(server, "long", "&limit=10&offset=20");
  expect(namesOf(page)).toEqual(["20", "21", "22", "23", "24"]);
  expect(page["turn_count"]).toBe(25);
});

test.each([
  ["/ui/threads?session=x", "session is not a UUID"],
  ["/ui/threads?session=<session>&limit=0", "limit must be a whole number from 1 to 100"],
  ["/ui/threads?session=<session>&cursor=bm90IG9uZQ", "cursor was not returned by this list"],
  ["/ui/threads/turns?session=<session>", "thread must be the id of a thread"],
  [`/ui/threads/turns?session=<session>&thread=${"x".repeat(5_000)}`, "at most 4000 characters"],
])("a request is refused with a reason: %#", async (path, reason) => {
  const server = await runServer();
  await send(server, { post: [turn("t", 0)] });
  const session = await findSession(server);
  const { status, text } = await call(server, `GET ${path.replace("<session>", session)}`);
  expect(status).toBe(422);
  expect(text).toContain(reason);
});

test("a deep or large output has a preview, and does not fail the list", async () => {
  const server = await runServer();
  const deep = `${"[".repeat(900)}${"]".repeat(900)}`;
  await send(server, {
    post: [
      turn("large", 0, { outputs: { text: "x".repeat(5_000_000) } }),
      turn("deep", 1, { outputs: { value: JSON.parse(deep) as unknown } }),
      turn("surrogate", 2, { outputs: { text: `${"y".repeat(399)}😀` } }),
    ],
  });
  const { threads } = await listThreads(server);
  const texts = Object.fromEntries(threads.map(({ id, last_message: m }) => [id, m?.text ?? ""]));
  expect(texts["large"]).toMatch(/^\{"text":"x+$/);
  expect(texts["deep"]).toMatch(/^\{"value":\[+/);
  expect(texts["surrogate"]).toBe("y".repeat(399));
});

/** A step of a random history: a new turn, or a change of an earlier one. */
const stepArbitrary = oneof(
  record({
    kind: constant("post" as const),
    thread: constantFrom(undefined, "a", "b", "c", "d"),
    key: constantFrom(...threadKeys),
    second: integer({ min: 0, max: 5_000 }),
    hasError: boolean(),
  }),
  record({
    kind: constant("patch" as const),
    run: nat(),
    thread: constantFrom("a", "b", "c", "d"),
  }),
);

test("after random posts and patches, the list is what a scan of all runs gives", async () => {
  await assert(
    asyncProperty(array(stepArbitrary, { minLength: 1, maxLength: 30 }), async (steps) => {
      const server = await runServer();
      const runs: {
        run: ReturnType<typeof turn>;
        thread: string | undefined;
        second: number;
        hasError: boolean;
      }[] = [];
      await send(server, { post: [turn(undefined, 0)] });
      for (const [index, step] of steps.entries()) {
        if (step.kind === "post") {
          const { thread, key, second, hasError } = step;
          const run = turn(undefined, second, {
            ...(thread === undefined ? {} : { extra: { metadata: { [key]: thread } } }),
            ...(hasError ? { error: "no" } : {}),
          });
          runs.push({ run, thread, second, hasError });
          await send(server, { post: [run] });
        } else if (runs.length > 0) {
          const changed = runs[step.run % runs.length]!;
          changed.thread = step.thread;
          // Each patch differs, because the server ignores one that it has received before.
          const extra = { metadata: { thread_id: step.thread, step: index } };
          await send(server, { patch: [patchOf(changed.run, { extra })] });
        }
      }
      const expected = new Map<string, readonly [turns: number, errors: number, last: number]>();
      for (const { thread, second, hasError } of runs) {
        if (thread !== undefined) {
          const [turns, errors, last] = expected.get(thread) ?? [0, 0, 0];
          expected.set(thread, [turns + 1, errors + Number(hasError), Math.max(last, second)]);
        }
      }
      const { threads } = await listThreads(server, "limit=2");
      const listed = threads.map((thread) => [
        thread.id,
        [
          thread.turn_count,
          thread.error_count,
          (Date.parse(thread.last_start_time) * 1_000 - startMicros) / secondMicros,
        ],
      ]);
      expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected));
      expect(listed).toHaveLength(expected.size);
    }),
    { numRuns: 15 },
  );
}, 60_000);

test("the threads of deleted runs are gone", async () => {
  const server = await runOwnServer();
  await send(server, { post: [turn("t", 0)] });
  const session = await findSession(server);
  expect((await listThreads(server)).threads).toHaveLength(1);
  await call(server, `DELETE /sessions/${session}`);
  const { json } = await call(server, `GET /ui/threads?session=${session}`);
  expect(json["threads"]).toEqual([]);
});
