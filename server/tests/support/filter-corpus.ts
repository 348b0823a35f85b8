import { feedbackTables } from "../../src/feedback/feedback-tables.ts";
import type { FilterFixture } from "./filter-fixture.ts";
import type { EvaluatedRun } from "./filter-oracle.ts";
import type { WireObject } from "./store-fixture.ts";
import { patchOf } from "./store-fixture.ts";
import { someMicros, wireRun } from "./wire-runs.ts";

export const exampleId = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/** Milliseconds, with microseconds as the fraction. */
const startMs = someMicros / 1_000;

/** Requests that store a corpus of runs, and feedback on these runs. */
interface Corpus {
  readonly batches: readonly Parameters<FilterFixture["send"]>[0][];
  readonly feedback: readonly WireObject[];
}

/** Stores a corpus of runs with feedback, and returns it as it is read back. */
export function fillFixture(fixture: FilterFixture): readonly EvaluatedRun[] {
  const { batches, feedback } = createCorpus();
  batches.forEach((batch) => fixture.send(batch));
  insertFeedback(fixture, feedback);
  return addFeedback(fixture.runs(), feedback);
}

/** Stores feedback on runs of the fixture. */
export function insertFeedback(fixture: FilterFixture, feedback: readonly WireObject[]): void {
  fixture.db.exec(feedbackIfMissing(fixture));
  const insert = fixture.db.prepare(
    `INSERT INTO feedback (${feedbackColumns.join(", ")}) VALUES (${feedbackColumns.map(() => "?").join(", ")})`,
  );
  listFeedbackRows(fixture.tenantId, feedback).forEach((row) => insert.run([...row]));
}

/** The runs as they are read back, each with its feedback and the runs of its trace. */
export const addFeedback = (
  runs: readonly WireObject[],
  feedback: readonly WireObject[],
): readonly EvaluatedRun[] =>
  runs.map((run) => ({
    run,
    feedback: feedback.filter((one) => one["run"] === run["id"]),
    traceRuns: runs.filter((other) => other["trace_id"] === run["trace_id"]),
  }));

export function createCorpus(): Corpus {
  const root = wireRun({
    name: "root",
    reference_example_id: exampleId,
    end_time: startMs + 20_000,
    tags: ["prod", "seq:1"],
    extra: { metadata: { thread_id: "t-1" } },
  });
  const chat = wireRun({
    name: "chat",
    parent: root,
    micros: someMicros + 1,
    run_type: "llm",
    end_time: startMs + 2_000,
    tags: ["prod"],
    inputs: { messages: [{ role: "user", content: "Hello World" }], n: 3 },
    outputs: {
      text: "hi",
      usage_metadata: { total_tokens: 12, input_tokens: 5, output_tokens: 7 },
    },
    events: [
      { name: "start", time: "2026-11-21T10:11:12.4Z" },
      { name: "new_token", time: "2026-11-21T10:11:12.900Z" },
    ],
    extra: {
      runtime: { sdk: "x" },
      metadata: { user: "u1", env: "prod", score: 0.7, ls_model_name: "mill-1" },
    },
  });
  const chat2 = wireRun({
    name: "chat 2",
    parent: root,
    micros: someMicros + 2,
    run_type: "llm",
    end_time: startMs + 8_000,
    tags: ["beta"],
    outputs: { text: "50% *[?]" },
    extra: {
      metadata: {
        user: "u2",
        cached: true,
        session_id: "t-1",
        score: 0.2,
        deep: { list: [1, { b: 2, c: null }] },
        usage_metadata: { input_tokens: 7, total_cost: 0.25 },
      },
    },
  });
  const tool = wireRun({
    name: "tool",
    parent: chat,
    micros: someMicros + 3,
    run_type: "tool",
    end_time: startMs + 1_000,
    error: "Timeout: no answer",
    extra: { runtime: {} },
  });
  const pending = wireRun({
    name: "pending",
    parent: chat,
    micros: someMicros + 4,
    run_type: "llm",
  });
  const patched = wireRun({
    name: "patched",
    micros: someMicros + 5,
    tags: ["before"],
    error: "cleared",
    extra: { metadata: { old: 1 } },
  });
  const odd = wireRun({
    name: "odd",
    micros: someMicros + 6,
    tags: ["nul\0inside", "\ud83d\ude00", "", "world"],
    inputs: { html: "<b>&amp;</b>", "": "empty", "a.b": 1, list: ["x\0y", "\udc00"] },
    outputs: { sql: "'; DROP TABLE runs; --", back: "C:\\dir", zero: 0, huge: 1e21 },
    extra: { metadata: { 'quoted"key': "é", "lone\udfff": "\ud800", "nul\0key": "v\0" } },
  });
  const batches = [
    { post: [root, chat, chat2, tool, pending, patched, odd] },
    { patch: [patchOf(patched, { tags: ["first"], extra: { metadata: { first: 1 } } })] },
    {
      patch: [
        patchOf(patched, { tags: ["replaced"], error: null, extra: { metadata: { new: 2 } } }),
      ],
    },
  ];
  const feedback = [
    { run: chat.id, key: "helpful", score: 1, comment: "did well" },
    { run: chat.id, key: "correct", score: null, value: "good" },
    { run: chat2.id, key: "helpful", score: 0.25 },
    { run: chat2.id, key: "note", score: 0, value: { label: "x" } },
  ];
  return { batches, feedback };
}

export const feedbackColumns = [
  "tenant_id",
  "id",
  "run_id",
  "key_json",
  "score",
  "score_json",
  "value_json",
  "comment_json",
  "source_type_json",
  "created_us",
  "modified_us",
  "digest",
] as const;

/** Feedback as rows with the columns of {@link feedbackColumns}. */
export const listFeedbackRows = (
  tenantId: string,
  given: readonly WireObject[],
): readonly (readonly (string | number | null)[])[] =>
  given.map(({ run, key, score, value, comment }, index) => {
    const json = (part: unknown): string | null =>
      part === undefined || part === null ? null : JSON.stringify(part);
    return [
      tenantId,
      `f-${index}`,
      String(run),
      json(key),
      typeof score === "number" ? score : null,
      json(score),
      json(value),
      json(comment),
      '"api"',
      0,
      0,
      "",
    ];
  });

/** Creates the tables of feedback if the schema has none. */
export const feedbackIfMissing = ({ db }: FilterFixture): string =>
  db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'feedback'").all().length === 0
    ? feedbackTables
    : "";
