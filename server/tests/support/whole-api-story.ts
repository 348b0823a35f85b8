import { randomUUID } from "node:crypto";
import { traceRequestType } from "../../src/otlp/proto-types.ts";
import { v2PublicFields, v2RunFields } from "../../src/v2/v2-run-json.ts";
import { textOf } from "./running-server.ts";
import { listProbes } from "./tenant-story.ts";
import type { SendRequest, Names } from "./tenant-story.ts";
import { multipart, multipartType, someMicros, wireRun } from "./wire-runs.ts";

/** Calls every operation of the API at least once with success, and many in several ways, after {@link tell}. */
export async function callEverything(send: SendRequest, names: Names): Promise<void> {
  await readServer(send);
  await sendRuns(send, names);
  await sendFeedback(send, names);
  await readShares(send, names);
  await readProjects(send, names);
  await writeDatasets(send, names);
  await callV2(send, names);
  await reviewRuns(send, names);
  await commitPrompts(send, names);
  await sendProbes(send, names);
  await deleteAll(send, names);
}

async function readServer(send: SendRequest): Promise<void> {
  await send("GET /info");
  await send("GET /health/live");
  await send("GET /health/ready");
  await send("GET /metrics");
  await send("GET /settings");
  await send("POST /settings/handle", { body: { tenant_handle: "me" } });
}

const json = { "content-type": "application/json" };

async function sendRuns(send: SendRequest, { root, experiment, example }: Names): Promise<void> {
  const run = wireRun({
    session_id: experiment,
    run_type: "llm",
    start_time: "2026-11-21T10:11:12.345678Z",
    end_time: "2026-11-21T10:11:13.345678Z",
    reference_example_id: example,
    error: "failed",
    events: [{ name: "new_token", time: "2026-11-21T10:11:12.745678Z" }],
    inputs: { messages: [] },
    outputs: {
      usage_metadata: {
        input_tokens: 3,
        output_tokens: 4,
        input_token_details: { cached: 1 },
        output_token_details: { reasoning: 2 },
        total_cost: 0.25,
        input_cost: 0.1,
        output_cost: 0.15,
        input_cost_details: { cached: 0.05 },
        output_cost_details: { reasoning: 0.1 },
      },
    },
    extra: { metadata: { thread_id: "thread-1" } },
    serialized: { kwargs: {} },
    tags: ["a"],
  });
  const batch = { post: [run], patch: [] };
  await send("POST /runs", { body: wireRun({ session_name: "alone" }) });
  await send("POST /runs/batch", { body: batch });
  await send("POST /runs/batch", { body: batch });
  await send("POST /runs", { body: run });
  await send("POST /runs", { body: { ...run, id: "x" } });
  await send("POST /runs/batch", { body: { post: [{ ...run, id: "x" }, wireRun()], patch: [3] } });
  await send("POST /runs/batch", { body: { post: [{ id: "x" }], patch: [] } });
  await send("POST /runs/batch", { body: "{" });
  const patch = { end_time: "2026-11-21T10:11:14Z", outputs: { b: 1 } };
  await send(`PATCH /runs/${run.id}`, { body: patch });
  await send(`PATCH /runs/${run.id}`, { body: patch });
  const { id: posted, ...parts } = wireRun({ session_id: experiment });
  for (const name of [`post.${posted}`, `post.${root}.x`]) {
    const body = multipart([{ name, body: JSON.stringify({ id: posted, ...parts }) }]);
    await send("POST /runs/multipart", { body, headers: { "content-type": multipartType } });
  }
  await send(`GET /runs/${run.id}`);
  const { json: withFile } = await send(`GET /runs/${root}`);
  const file = new URL(textOf(withFile["s3_urls"]?.["attachment.note"]?.["presigned_url"]));
  await send(`GET ${file.pathname}${file.search}`);
  await send(`GET ${file.pathname}?token=x`);
  await send(`GET /runs/${randomUUID()}`);
  await send("POST /runs/query", {
    body: { session: [experiment], select: ["name", "inputs", "child_run_ids", "feedback_stats"] },
  });
  await send("POST /runs/query", { body: { session: [experiment], limit: 1 } });
  await send("POST /runs/query", { body: { limit: "many" } });
  await send("POST /runs/stats", { body: { id: [randomUUID()] } });
  await sendSpans(send);
}

async function sendSpans(send: SendRequest): Promise<void> {
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "span",
    startTimeUnixNano: String(BigInt(someMicros) * 1_000n),
    endTimeUnixNano: String(BigInt(someMicros + 1) * 1_000n),
  };
  const requestOf = (...spans: readonly object[]) => ({
    resourceSpans: [{ scopeSpans: [{ spans }] }],
  });
  const path = "POST /otel/v1/traces";
  await send(path, { body: requestOf(span, { name: "invalid" }), headers: json });
  await send(path, { body: requestOf({ name: "invalid" }), headers: json });
  const encoded = { ...span, traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1) };
  const body = traceRequestType.encode(traceRequestType.fromObject(requestOf(encoded))).finish();
  const headers = { "content-type": "application/x-protobuf" };
  await send(path, { body: Buffer.from(body), headers });
  await send(path, { body: Buffer.from("?"), headers });
}

async function sendFeedback(send: SendRequest, { root, experiment }: Names): Promise<void> {
  const all = {
    run_id: root,
    session_id: experiment,
    key: "line\nbreak",
    score: true,
    value: { any: ["value"] },
    comment: "“quoted” \u2028",
    correction: { right: 1 },
    feedback_source: { type: "model", metadata: { __run: { run_id: root }, "": null } },
    feedback_config: { type: "continuous", min: 0, max: 1 },
    error: false,
  };
  await send("POST /feedback", { body: all });
  await send("POST /feedback", { body: { ...all, score: 0.1, correction: "text", value: "good" } });
  await send("POST /feedback", { body: { key: "k" } });
  await send("POST /feedback", { body: { key: 3 } });
  await send(`GET /feedback?session=${experiment}&user=${randomUUID()}`);
  const token = { run_id: root, feedback_key: "k" };
  const { json: created } = await send("POST /feedback/tokens", { body: token });
  await send("POST /feedback/tokens", { body: [token, token] });
  const path = new URL(textOf(created["url"])).pathname;
  await send(`POST ${path}`, { body: { score: 1, metadata: { a: 1 } } });
  await send(`GET ${path}?score=0.5&comment=good`);
  await send(`GET /feedback/tokens/${randomUUID()}`);
}

async function readShares(send: SendRequest, { root, dataset }: Names): Promise<void> {
  const tokenOf = async (target: string): Promise<string> =>
    textOf((await send(target)).json["share_token"]);
  const run = await tokenOf(`PUT /runs/${root}/share`);
  await send(`GET /public/${run}/run`);
  const trace = await tokenOf(`POST /api/v2/runs/${root}/share`);
  const selects = v2PublicFields.map((name) => `selects=${name}`).join("&");
  await send(`GET /api/v2/public/${trace}/run/${root}?${selects}`);
  for (const body of [{}, { selects: v2PublicFields, page_size: 1 }]) {
    await send(`POST /api/v2/public/${trace}/runs/query`, { body });
  }
  await send(`POST /api/v2/public/${trace}/runs/query`, { body: {}, headers: events });
  const data = await tokenOf(`PUT /datasets/${dataset}/share`);
  for (const path of ["datasets", "examples", "examples?select=inputs", "examples/count"]) {
    await send(`GET /public/${data}/${path}`);
    await send(`GET /public/${randomUUID()}/${path}`);
  }
  await send(`GET /datasets/${randomUUID()}/share`);
  const { json: unshared } = await send("POST /datasets", { body: { name: "not shared" } });
  await send(`GET /datasets/${textOf(unshared["id"])}/share`);
}

async function readProjects(send: SendRequest, { experiment, project }: Names): Promise<void> {
  await send("GET /sessions?include_stats=true");
  await send("GET /sessions");
  await send(`GET /sessions/${project}`);
  await send(`GET /sessions/${experiment}?include_stats=true`);
  const body = { name: "new", extra: { metadata: { a: 1 } }, end_time: "2026-11-22T00:00:00Z" };
  await send("POST /sessions", { body });
  await send("POST /sessions", { body });
  await send("POST /sessions?upsert=true", { body });
}

const form = (fields: Readonly<Record<string, string | Blob>>): FormData => {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    data.append(name, value);
  }
  return data;
};

const jsonPart = (value: unknown): Blob =>
  new Blob([JSON.stringify(value)], { type: "application/json" });

async function writeDatasets(
  send: SendRequest,
  { root, dataset, experiment }: Names,
): Promise<void> {
  await send("POST /datasets", {
    body: {
      name: "with schemas",
      inputs_schema_definition: { type: "object", required: ["q"] },
      transformations: [{ path: ["inputs"], transformation_type: "remove_extra_fields" }],
      extra: { metadata: { a: 1 } },
    },
  });
  const { json: list } = await send("GET /datasets?name=with%20schemas");
  const strict = textOf(list[0]?.["id"]);
  await send(`POST /datasets/${strict}/examples/check`, {
    body: [{ id: randomUUID(), inputs: {} }],
  });
  await send("POST /examples", { body: { dataset_id: strict, inputs: {} } });
  await send("POST /examples", { body: { dataset_id: dataset, inputs: [] } });
  const file = new Blob(["q,a\n1,2\n"], { type: "text/csv" });
  await send("POST /datasets/upload", {
    body: form({ input_keys: "q", output_keys: "a", name: "uploaded", file }),
  });
  const id = randomUUID();
  const platform = `/v1/platform/datasets/${dataset}/examples`;
  const body = form({
    [id]: jsonPart({ metadata: { dataset_split: ["x"] }, source_run_id: root }),
    [`${id}.inputs`]: jsonPart({ q: "files" }),
    [`${id}.attachment.note`]: new Blob(["note"], { type: "text/plain" }),
  });
  await send(`POST ${platform}`, { body });
  await send(`PATCH ${platform}`, {
    body: form({ [id]: jsonPart({ outputs: { a: 2 } }) }),
  });
  await send("POST /examples/bulk", { body: [{ dataset_id: dataset, inputs: { q: 1 } }] });
  await send("PATCH /examples/bulk", { body: [{ id, outputs: { a: 3 } }] });
  await send(`GET /examples/${id}`);
  await send(`GET /examples?dataset=${dataset}&select=attachment_urls&select=outputs`);
  await send(`GET /examples?dataset=${dataset}&select=name`);
  await send("GET /examples");
  for (const export_ of ["csv", "jsonl"]) {
    await send(`GET /datasets/${dataset}/${export_}`);
  }
  const { json: chats } = await send("POST /datasets", {
    body: { name: "chats", data_type: "chat" },
  });
  const chat = textOf(chats["id"]);
  const content = { inputs: { input: "hi" }, outputs: { output: "hello" } };
  await send("POST /examples", { body: { dataset_id: chat, ...content } });
  await send(`GET /datasets/${chat}/openai_ft`);
  await send(`GET /datasets/${chat}/versions/diff?from_version=latest&to_version=latest`);
  await send(`POST /datasets/${dataset}/runs`, { body: { session_ids: [experiment] } });
}

const threadTotals = [
  "LATENCY_P50",
  "LATENCY_P99",
  "TOTAL_TOKENS",
  "TOTAL_COST",
  "PROMPT_TOKENS",
  "PROMPT_COST",
  "COMPLETION_TOKENS",
  "COMPLETION_COST",
  "PROMPT_TOKEN_DETAILS",
  "PROMPT_COST_DETAILS",
  "COMPLETION_TOKEN_DETAILS",
  "COMPLETION_COST_DETAILS",
];

const threadStatistics = [
  ...threadTotals,
  "TURNS",
  "FIRST_START_TIME",
  "LAST_START_TIME",
  "LAST_END_TIME",
  "FEEDBACK_STATS",
];

/** The statistics that only all threads together have. */
const threadsStatistics = [
  "THREAD_COUNT",
  "TRACE_COUNT",
  "ERROR_RATE",
  "STREAMING_RATE",
  "MEDIAN_TOKENS",
  "FIRST_TOKEN_P50",
  "FIRST_TOKEN_P99",
  "THREAD_FEEDBACK_STATS",
];

/** Headers of a request for a stream of events. */
const events = { accept: "text/event-stream" };

async function callV2(send: SendRequest, { dataset, experiment, root }: Names): Promise<void> {
  const since = { min_start_time: "2020-01-01T00:00:00Z" };
  const bodies: Readonly<Record<string, object>> = {
    "/api/v2/runs/query": { project_ids: [experiment], selects: v2RunFields, ...since },
    "/api/v2/traces/query": { project_id: experiment, selects: v2RunFields, ...since },
    "/api/v2/threads/query": { project_id: experiment, ...since },
    [`/api/v2/datasets/${dataset}/experiment-runs`]: {
      experiment_ids: [experiment],
      selects: v2RunFields,
    },
  };
  for (const [path, body] of Object.entries(bodies)) {
    await send(`POST ${path}`, { body });
    await send(`POST ${path}`, { body, headers: events });
    await send(`POST ${path}`, { body: { ...body, page_size: 1 } });
    await send(`POST ${path}`, { body: { ...body, page_size: 0 } });
  }
  const selects = v2RunFields.map((name) => `selects=${name}`).join("&");
  const within = `project_id=${experiment}&${selects}`;
  await send(`GET /api/v2/runs/${root}?${within}`);
  await send(`GET /api/v2/traces/${root}/runs?${within}`);
  await send(`GET /api/v2/threads/thread-1/traces?${within}&selects=LATENCY&selects=TURN_NUMBER`);
  const selected = threadStatistics.map((name) => `selects=${name}`).join("&");
  await send(`GET /api/v2/threads/thread-1/stats?session_id=${experiment}&${selected}`);
  const select = [...threadsStatistics, ...threadTotals];
  await send("POST /api/v2/threads/stats", { body: { project_id: experiment, select, ...since } });
  await send("GET /api/v2/sessions?include_stats=true");
  await send("GET /api/v2/sessions?page_size=1");
  await send("GET /api/v2/datasets?exclude=example_count");
  await send("GET /api/v2/datasets?page_size=1");
}

async function reviewRuns(
  send: SendRequest,
  { root, queue, entry, dataset }: Names,
): Promise<void> {
  const rubric = [{ feedback_key: "k", feedback_config: { type: "freeform" } }];
  const { json: created } = await send("POST /annotation-queues", {
    body: { name: "with rubric", rubric_items: rubric, metadata: { a: 1 }, reservation_minutes: 5 },
  });
  const path = `/annotation-queues/${textOf(created["id"])}`;
  await send(`PATCH ${path}`, {
    body: { enable_reservations: null, num_reviewers_per_item: null, default_dataset: dataset },
  });
  await send(`POST ${path}/runs`, { body: [root] });
  await send(`POST ${path}/runs/by-key`, { body: [{ run_id: root }] });
  const claim = { reviewer: "r" };
  await send(`POST /ui/annotation-queues/${queue}/claim`, { body: claim });
  await send(`GET /annotation-queues/${queue}/runs`);
  await send(`POST /ui/annotation-queues/${queue}/runs/${entry}/done`, { body: claim });
  await send(`GET /annotation-queues/${queue}/run/0`);
  await send(`GET /annotation-queues/${queue}/run/9`);
  await send(`GET ${path}/size?status=completed`);
}

async function commitPrompts(send: SendRequest, { prompt }: Names): Promise<void> {
  await send("GET /repos");
  await send("GET /repos/-/unknown");
  await send("POST /repos", { body: { repo_handle: "another", tags: ["a"], description: "text" } });
  const { json: latest } = await send(`GET /commits/-/${prompt}`);
  const parent = textOf(latest["commits"]?.[0]?.["commit_hash"]);
  const { json: committed } = await send(`POST /commits/-/${prompt}`, {
    body: { manifest: { v: 2 }, parent_commit: parent, description: "second" },
  });
  const commitId = textOf(committed["commit"]?.["id"]);
  const tags = `/repos/-/${prompt}/tags`;
  await send(`POST ${tags}`, { body: { tag_name: "good", commit_id: commitId } });
  await send(`GET ${tags}`);
  await send(`GET ${tags}/good`);
  await send(`PATCH ${tags}/good`, { body: { commit_id: commitId } });
  await send(`GET /commits/-/${prompt}/good?is_view=true`);
  await send(`DELETE ${tags}/good`);
}

/** The requests of each documented route that takes an id, except for deletions, which come last. */
async function sendProbes(send: SendRequest, names: Names): Promise<void> {
  for (const { target, init } of probesOf(names).filter(
    (one) => !one.target.startsWith("DELETE "),
  )) {
    await send(target, init);
  }
}

async function deleteAll(send: SendRequest, names: Names): Promise<void> {
  const create = async (path: string, body: object): Promise<string> => {
    const { json: created } = await send(`POST ${path}`, { body });
    return textOf(created["id"] ?? created["repo"]?.["id"]);
  };
  const { root, experiment, dataset } = names;
  const [one, other] = [
    await create("/annotation-queues", { name: "one" }),
    await create("/annotation-queues", { name: "other" }),
  ];
  await send(`DELETE /annotation-queues?queue_ids=${one}&queue_ids=${randomUUID()}`);
  await send(`DELETE /annotation-queues?queue_ids=${other}`);
  const prompts = [
    await create("/repos", { repo_handle: "one" }),
    await create("/repos", { repo_handle: "other" }),
  ];
  await send(`DELETE /repos?repo_ids=${prompts[0]}&repo_ids=${randomUUID()}`);
  await send(`DELETE /repos?repo_ids=${prompts[1]}`);
  const examples: string[] = [];
  for (const q of [1, 2, 3]) {
    examples.push(await create("/examples", { dataset_id: dataset, inputs: { q } }));
  }
  const [first, second, third] = examples;
  await send(`DELETE /examples?example_ids=${first}`);
  await send(`DELETE /examples/${second}`);
  await send("POST /v1/platform/datasets/examples/delete", { body: { example_ids: [third] } });
  for (const { target, init } of deletionsOf(names)) {
    await send(target, init);
  }
  await send(`GET /runs/${root}/share`);
  await send(`GET /api/v2/threads/thread-1/share?project_id=${experiment}`);
  await send(`DELETE /datasets?dataset_ids=${names.other}`);
  await send(`DELETE /sessions?session_ids=${names.project}`);
}

/** Projects and datasets, which contain other resources. */
const containers = /^DELETE \/(?:sessions|datasets)(?:\/:id)?$/;

/** The deletions in {@link listProbes}: what is part of something else first, and what contains other resources last. */
const deletionsOf = (names: Names) => {
  const rankOf = ({ route }: { readonly route: string }): number =>
    (containers.test(route) ? 100 : 0) - route.split("/").length;
  return probesOf(names)
    .filter(({ route }) => route.startsWith("DELETE "))
    .toSorted((left, right) => rankOf(left) - rankOf(right));
};

/** The requests of {@link listProbes}, except for those of the UI. */
const probesOf = (names: Names) =>
  Object.entries(listProbes({ ...names, owner: "-" })).flatMap(([route, requests]) =>
    requests
      .filter(({ path }) => !path.startsWith("/ui/"))
      .map(({ path, ...init }) => ({ route, target: `${route.split(" ")[0]} ${path}`, init })),
  );
