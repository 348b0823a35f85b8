import { randomUUID } from "node:crypto";
import { textOf } from "./running-server.ts";
import type { CallResult, CallInit } from "./running-server.ts";
import { multipart, multipartType, someMicros, wireRun } from "./wire-runs.ts";

/** Sends requests as one tenant. */
export type SendRequest = (target: string, init?: CallInit) => Promise<CallResult>;

/** The ids and names of everything that a tenant creates. */
export interface Names {
  readonly root: string;
  readonly child: string;
  /** A run that is patched before it is posted. */
  readonly early: string;
  readonly project: string;
  readonly experiment: string;
  readonly dataset: string;
  readonly other: string;
  readonly example: string;
  readonly feedback: string;
  readonly comment: string;
  readonly queue: string;
  readonly comparative: string;
  readonly spanTrace: string;
  readonly prompt: string;
  /** The owner of the prompt, as paths contain it. */
  readonly owner: string;
  /** The following ids are chosen by the server. */
  readonly entry: string;
  readonly view: string;
  readonly webhook: string;
  readonly rule: string;
  readonly alert: string;
  readonly promptId: string;
  readonly keyId: string;
  readonly jobId: string;
}

/** The names whose values the server chooses when the resource is created. */
export const serverChosen = [
  "entry",
  "view",
  "webhook",
  "rule",
  "alert",
  "promptId",
] as const satisfies readonly (keyof Names)[];

export const createNames = (): Names => ({
  root: randomUUID(),
  child: randomUUID(),
  early: randomUUID(),
  project: randomUUID(),
  experiment: randomUUID(),
  dataset: randomUUID(),
  other: randomUUID(),
  example: randomUUID(),
  feedback: randomUUID(),
  comment: randomUUID(),
  queue: randomUUID(),
  comparative: randomUUID(),
  spanTrace: randomUUID(),
  prompt: `p-${randomUUID()}`,
  owner: "me",
  entry: randomUUID(),
  view: randomUUID(),
  webhook: randomUUID(),
  rule: randomUUID(),
  alert: randomUUID(),
  promptId: randomUUID(),
  keyId: randomUUID(),
  jobId: randomUUID(),
});

const at = (second: number): number => someMicros + second * 1_000_000;

/** The runs of a story: a root, its child, and one that is patched before it is posted. */
function runsOf(names: Names, mark: string) {
  const root = {
    ...wireRun({ id: names.root, micros: at(0), name: `${mark} root` }),
    session_id: names.experiment,
    inputs: { q: `${mark} asks` },
    reference_example_id: names.example,
    end_time: at(4) / 1_000,
    outputs: { a: `${mark} answers` },
    extra: { metadata: { thread_id: "thread-1", whose: mark } },
    tags: [mark],
  };
  const child = {
    ...wireRun({ id: names.child, parent: root, micros: at(1), name: `${mark} child` }),
    session_id: names.experiment,
    run_type: "llm",
    inputs: { text: `${mark} of child` },
  };
  const early = {
    ...wireRun({ id: names.early, micros: at(2), name: `${mark} early` }),
    session_name: `early`,
  };
  return { root, child, early };
}

/**
 * Creates every kind of resource that a tenant can create, under the given names; returns the names with the ids that
 * the server chose.
 */
export async function createResources(
  send: SendRequest,
  names: Names,
  mark: string,
): Promise<Names> {
  const must = async (target: string, init?: CallInit): Promise<CallResult> => {
    const response = await send(target, init);
    if (response.status >= 300) {
      throw new Error(`${mark}: ${target} was answered ${response.status}: ${response.text}`);
    }
    return response;
  };
  const { root, child, early } = runsOf(names, mark);
  const { dataset, example, experiment } = names;
  const score = mark.length;

  // Feedback on a run that does not exist yet.
  const judged = { run_id: names.root, key: "early", score, comment: mark };
  await must("POST /feedback", { body: { id: names.feedback, ...judged } });
  await must("POST /feedback/tokens", { body: { run_id: names.root, feedback_key: "by token" } });
  const patch = { id: names.early, outputs: { late: mark }, end_time: at(3) / 1_000 };
  await must(`PATCH /runs/${names.early}`, {
    body: { ...patch, trace_id: names.early, dotted_order: early.dotted_order },
  });
  await must("POST /runs", { body: early });

  await must("POST /datasets", { body: { id: dataset, name: "d", description: mark } });
  await must("POST /datasets", { body: { id: names.other, name: "other", description: mark } });
  const content = { inputs: { q: mark }, outputs: { a: mark }, metadata: { whose: mark } };
  await must("POST /examples", {
    body: { id: example, dataset_id: dataset, ...content, split: ["test"] },
  });
  await must(`PATCH /examples/${example}`, { body: { outputs: { a: `${mark} again` } } });
  const split = { split_name: "more", examples: [example] };
  await must(`PUT /datasets/${dataset}/splits`, { body: split });
  await must(`PUT /datasets/${dataset}/tags`, { body: { as_of: "latest", tag: "good" } });
  await must(`POST /datasets/${dataset}/index`, { body: {} });

  for (const [id, name] of [
    [experiment, "experiment"],
    [names.project, "project"],
  ] as const) {
    const project = { id, name, description: mark, start_time: "2026-11-21T10:00:00Z" };
    await must("POST /sessions", {
      body: { ...project, ...(id === experiment && { reference_dataset_id: dataset }) },
    });
  }
  const filter = { display_name: mark, filter_string: 'eq(name, "x")' };
  const view = await must(`POST /sessions/${experiment}/views`, { body: filter });
  await must("POST /ui/comments", {
    body: { id: names.comment, example_id: example, text: mark },
    headers: ada,
  });
  const parts = multipart([
    { name: `post.${root.id}`, body: JSON.stringify(root) },
    { name: `post.${child.id}`, body: JSON.stringify(child) },
    { name: `attachment.${root.id}.note`, body: `${mark} note`, contentType: "text/plain" },
  ]);
  await must("POST /runs/multipart", { body: parts, headers: { "content-type": multipartType } });
  await must("POST /feedback", {
    body: { run_id: names.root, key: "late", score: score + 1, comment: mark },
  });
  await must("POST /feedback", { body: { session_id: experiment, key: "whole", score } });
  await must("POST /feedback/tokens", { body: { run_id: names.root, feedback_key: "late token" } });

  const comparison = { experiment_ids: [experiment], reference_dataset_id: dataset };
  await must("POST /datasets/comparative", {
    body: { id: names.comparative, name: mark, ...comparison },
  });
  const queue = { id: names.queue, name: "queue", description: mark, default_dataset: dataset };
  await must("POST /annotation-queues", { body: queue });
  const added = await must(`POST /annotation-queues/${names.queue}/runs`, { body: [names.root] });
  await must(`PUT /runs/${names.root}/share`);
  await must(`POST /api/v2/runs/${names.root}/share`);
  await must("POST /api/v2/threads/thread-1/share", { body: { project_id: experiment } });
  await must(`PUT /datasets/${dataset}/share`);
  await must("PUT /ui/retention", { body: { project_id: names.project, days: 30 } });

  const webhook = await must("POST /ui/webhooks", { body: { name: mark, url: hookUrl } });
  const hookId = textOf(webhook.json["id"]);
  const rule = await must("POST /ui/rules", { body: ruleBody(names.project, hookId, mark) });
  const alert = await must("POST /ui/alerts", { body: alertBody(names.project, hookId, mark) });

  const created = await must("POST /repos", {
    body: { repo_handle: names.prompt, is_public: false },
  });
  await must(`POST /commits/-/${names.prompt}`, { body: { manifest: { whose: mark } } });
  await must("POST /otel/v1/traces", {
    body: spansOf(names, mark),
    headers: { "content-type": "application/json" },
  });
  return {
    ...names,
    entry: textOf(added.json[0]?.["id"]),
    view: textOf(view.json["id"]),
    webhook: hookId,
    rule: textOf(rule.json["id"]),
    alert: textOf(alert.json["id"]),
    promptId: textOf(created.json["repo"]?.["id"]),
  };
}

/** A public address, which is checked without resolving a name. Nothing is sent to it. */
const hookUrl = "https://93.184.215.14/hook";

const ruleBody = (project: string, webhook: string, mark: string) => ({
  session_id: project,
  name: mark,
  filter: 'eq(name, "no run of the story")',
  sampling_rate: 1,
  action: { kind: "webhook", webhook_id: webhook },
});

const alertBody = (project: string, webhook: string, mark: string) => ({
  session_id: project,
  name: mark,
  figure: "error_rate",
  scope: "traces",
  group: null,
  window_minutes: 5,
  direction: "above",
  threshold: 0.5,
  webhook_id: webhook,
});

/** Two spans, the child first. */
function spansOf(names: Names, mark: string) {
  const trace = names.spanTrace.replaceAll("-", "");
  const time = (second: number): string => String(BigInt(at(second)) * 1_000n);
  const span = (id: number, parent: number | undefined) => ({
    traceId: trace,
    spanId: id.toString(16).padStart(16, "0"),
    ...(parent === undefined ? {} : { parentSpanId: parent.toString(16).padStart(16, "0") }),
    name: `${mark} span ${id}`,
    startTimeUnixNano: time(id),
    endTimeUnixNano: time(id + 1),
  });
  return { resourceSpans: [{ scopeSpans: [{ spans: [span(2, 1), span(1, undefined)] }] }] };
}

export interface Probe {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const form = (name: string, value: unknown): FormData => {
  const data = new FormData();
  data.append(name, new Blob([JSON.stringify(value)], { type: "application/json" }));
  return data;
};

const ada = { "x-millrace-author": "Ada" };

/** For each route with an id in it: requests that name what a tenant has. */
export function listProbes(names: Names): Readonly<Record<string, readonly Probe[]>> {
  const { root, child, experiment, dataset, example, feedback, queue, comparative } = names;
  const { entry, prompt, owner } = names;
  const { root: rootRun } = runsOf(names, "probe");
  const { session_id: _session, reference_example_id: _example, ...plain } = rootRun;
  const within = { start_time: "2020-01-01T00:00:00Z" };
  const runFilters = [
    { id: [root] },
    { session: [experiment] },
    { trace: root },
    { parent_run: root },
    { reference_example: [example] },
    { filter: `eq(id, "${root}")` },
    { filter: `in(id, ["${root}", "${child}"])` },
    { filter: `eq(session_id, "${experiment}")` },
    { filter: `eq(trace_id, "${root}")`, session: [experiment] },
    { filter: `neq(id, "${child}")`, session: [experiment] },
    { session: [experiment], trace_filter: 'eq(run_type, "chain")' },
    { session: [experiment], tree_filter: 'eq(run_type, "llm")' },
    { session: [experiment], filter: 'search("asks")' },
    { session: [experiment], filter: 'eq(feedback_key, "early")' },
    { session: [experiment], query: "answers" },
  ];
  const one = (path: string, body?: unknown): readonly Probe[] => [{ path, body }];
  const ofView = `/sessions/${experiment}/views/${names.view}`;
  const ofDataset = `/datasets/${dataset}`;
  const ofQueue = `/annotation-queues/${queue}`;
  const ofPrompt = `/repos/${owner}/${prompt}`;
  const newRun = (fields: object) => wireRun({ id: randomUUID(), ...fields });
  return {
    "GET /runs/:id": [{ path: `/runs/${root}` }, { path: `/runs/${child}` }],
    "PATCH /runs/:id": [
      { path: `/runs/${root}`, body: { outputs: { a: 1 } } },
      { path: `/runs/${root}`, body: { ...plain, outputs: { a: 1 } } },
    ],
    "POST /runs": [
      { path: "/runs", body: plain },
      { path: "/runs", body: newRun({ session_id: experiment }) },
      { path: "/runs", body: newRun({ parent: rootRun }) },
    ],
    "POST /runs/batch": one("/runs/batch", { post: [{ ...plain, id: root }], patch: [] }),
    "POST /runs/multipart": [
      {
        path: "/runs/multipart",
        body: multipart([
          { name: `attachment.${root}.note`, body: "x", contentType: "text/plain" },
          {
            name: `feedback.${root}`,
            body: JSON.stringify({ id: randomUUID(), run_id: root, trace_id: root, key: "k" }),
          },
        ]),
        headers: { "content-type": multipartType },
      },
    ],
    "POST /runs/query": runFilters.map((body) => ({
      path: "/runs/query",
      body: { ...within, ...body },
    })),
    "POST /runs/stats": runFilters.map((body) => ({ path: "/runs/stats", body })),
    "GET /runs/:id/share": one(`/runs/${root}/share`),
    "PUT /runs/:id/share": one(`/runs/${root}/share`),
    "DELETE /runs/:id/share": one(`/runs/${root}/share`),
    "GET /sessions": [
      { path: `/sessions?id=${experiment}` },
      { path: `/sessions?reference_dataset=${dataset}` },
    ],
    "GET /sessions/:id": one(`/sessions/${experiment}?include_stats=true`),
    "POST /sessions": one("/sessions", {
      id: experiment,
      name: "n",
      reference_dataset_id: dataset,
      start_time: "2026-11-21T10:00:00Z",
    }),
    "PATCH /sessions/:id": one(`/sessions/${experiment}`, { description: "x" }),
    "DELETE /sessions/:id": one(`/sessions/${experiment}`),
    "GET /sessions/:id/views": one(`/sessions/${experiment}/views`),
    "POST /sessions/:id/views": one(`/sessions/${experiment}/views`, { display_name: "v" }),
    "GET /sessions/:id/views/:viewId": one(ofView),
    "PATCH /sessions/:id/views/:viewId": one(ofView, { filter_string: 'eq(name, "x")' }),
    "DELETE /sessions/:id/views/:viewId": one(ofView),
    "DELETE /sessions": one(`/sessions?ids=${experiment}&ids=${names.project}`),
    "GET /datasets": one(`/datasets?id=${dataset}`),
    "POST /datasets": one("/datasets", { id: dataset, name: "n" }),
    "DELETE /datasets": one(`/datasets?dataset_ids=${dataset}`),
    "GET /datasets/:id": one(ofDataset),
    "PATCH /datasets/:id": one(ofDataset, { description: "x" }),
    "DELETE /datasets/:id": one(ofDataset),
    "GET /datasets/:id/share": one(`${ofDataset}/share`),
    "PUT /datasets/:id/share": one(`${ofDataset}/share`),
    "DELETE /datasets/:id/share": one(`${ofDataset}/share`),
    "GET /datasets/:id/versions": [
      { path: `${ofDataset}/versions` },
      { path: `${ofDataset}/versions?example=${example}` },
    ],
    "GET /datasets/:id/versions/diff": one(
      `${ofDataset}/versions/diff?from_version=good&to_version=latest`,
    ),
    "GET /datasets/:id/version": one(`${ofDataset}/version?tag=good`),
    "PUT /datasets/:id/tags": one(`${ofDataset}/tags`, { as_of: "latest", tag: "probe" }),
    "GET /datasets/:id/splits": one(`${ofDataset}/splits`),
    "PUT /datasets/:id/splits": one(`${ofDataset}/splits`, {
      split_name: "probe",
      examples: [example],
    }),
    "GET /datasets/:id/openai_ft": one(`${ofDataset}/openai_ft`),
    "GET /datasets/:id/csv": one(`${ofDataset}/csv`),
    "GET /datasets/:id/jsonl": one(`${ofDataset}/jsonl`),
    "POST /datasets/:id/index": one(`${ofDataset}/index`, {}),
    "POST /datasets/:id/search": one(`${ofDataset}/search`, { inputs: { q: "x" } }),
    "POST /datasets/comparative": one("/datasets/comparative", {
      id: comparative,
      experiment_ids: [experiment],
      reference_dataset_id: dataset,
    }),
    "GET /datasets/:id/comparative": one(`${ofDataset}/comparative`),
    "POST /datasets/:id/runs": one(`${ofDataset}/runs`, { session_ids: [experiment] }),
    "POST /datasets/:id/examples/check": one(`${ofDataset}/examples/check`, [{ inputs: {} }]),
    "GET /examples": [
      { path: `/examples?dataset=${dataset}` },
      { path: `/examples?id=${example}` },
      { path: `/examples?dataset=${dataset}&splits=more` },
      { path: `/examples?dataset=${dataset}&as_of=good` },
    ],
    "POST /examples": [
      { path: "/examples", body: { dataset_id: dataset, inputs: {} } },
      { path: "/examples", body: { dataset_id: dataset, source_run_id: root, inputs: {} } },
    ],
    "DELETE /examples": one(`/examples?example_ids=${example}`),
    "GET /examples/count": one(`/examples/count?dataset=${dataset}`),
    "POST /examples/bulk": one("/examples/bulk", [{ dataset_id: dataset, inputs: {} }]),
    "PATCH /examples/bulk": one("/examples/bulk", [{ id: example, inputs: { x: 1 } }]),
    "GET /examples/:id": one(`/examples/${example}`),
    "PATCH /examples/:id": one(`/examples/${example}`, { inputs: { x: 1 } }),
    "DELETE /examples/:id": one(`/examples/${example}`),
    "POST /v1/platform/datasets/:id/examples": one(
      `/v1/platform${ofDataset}/examples`,
      form(randomUUID(), { inputs: {} }),
    ),
    "PATCH /v1/platform/datasets/:id/examples": one(
      `/v1/platform${ofDataset}/examples`,
      form(example, { outputs: {} }),
    ),
    "POST /v1/platform/datasets/examples/delete": one("/v1/platform/datasets/examples/delete", {
      example_ids: [example],
      hard_delete: true,
    }),
    "GET /feedback": [
      { path: `/feedback?run=${root}` },
      { path: `/feedback?session=${experiment}` },
      { path: `/feedback?comparative_experiment_id=${comparative}` },
    ],
    "POST /feedback": [
      { path: "/feedback", body: { run_id: root, key: "k" } },
      { path: "/feedback", body: { session_id: experiment, key: "k" } },
      { path: "/feedback", body: { run_id: root, session_id: experiment, key: "k" } },
      { path: "/feedback", body: { id: feedback, run_id: root, key: "k" } },
      {
        path: "/feedback",
        body: { run_id: root, comparative_experiment_id: comparative, key: "k" },
      },
    ],
    "GET /feedback/:id": one(`/feedback/${feedback}`),
    "PATCH /feedback/:id": one(`/feedback/${feedback}`, { score: 0 }),
    "DELETE /feedback/:id": one(`/feedback/${feedback}`),
    "POST /feedback/tokens": one("/feedback/tokens", { run_id: root, feedback_key: "k" }),
    "GET /feedback/tokens": one(`/feedback/tokens?run_id=${root}`),
    "GET /annotation-queues": [
      { path: `/annotation-queues?ids=${queue}` },
      { path: `/annotation-queues?dataset_id=${dataset}` },
    ],
    "POST /annotation-queues": [
      { path: "/annotation-queues", body: { id: queue, name: "n" } },
      { path: "/annotation-queues", body: { name: "n", default_dataset: dataset } },
    ],
    "DELETE /annotation-queues": one(`/annotation-queues?queue_ids=${queue}`),
    "GET /annotation-queues/:id": one(ofQueue),
    "PATCH /annotation-queues/:id": one(ofQueue, { description: "x" }),
    "DELETE /annotation-queues/:id": one(ofQueue),
    "GET /annotation-queues/:id/runs": one(`${ofQueue}/runs`),
    "POST /annotation-queues/:id/runs": one(`${ofQueue}/runs`, [root]),
    "POST /annotation-queues/:id/runs/by-key": one(`${ofQueue}/runs/by-key`, [
      { run_id: root, session_id: experiment },
    ]),
    "PATCH /annotation-queues/:id/runs/:queueRunId": one(`${ofQueue}/runs/${entry}`, {
      last_reviewed_time: "2026-11-21T10:00:00Z",
    }),
    "DELETE /annotation-queues/:id/runs/:queueRunId": one(`${ofQueue}/runs/${entry}`),
    "GET /annotation-queues/:id/run/:index": one(`${ofQueue}/run/0`),
    "GET /annotation-queues/:id/size": one(`${ofQueue}/size`),
    "GET /annotation-queues/:id/queues": one(`/annotation-queues/${root}/queues`),
    "DELETE /repos": one(`/repos?repo_ids=${names.promptId}`),
    "GET /repos/:owner/:repo": one(ofPrompt),
    "PATCH /repos/:owner/:repo": one(ofPrompt, { description: "x" }),
    "DELETE /repos/:owner/:repo": one(ofPrompt),
    "GET /repos/:owner/:repo/tags": one(`${ofPrompt}/tags`),
    "POST /repos/:owner/:repo/tags": one(`${ofPrompt}/tags`, {
      tag_name: "t",
      commit_id: randomUUID(),
    }),
    "GET /repos/:owner/:repo/tags/:tag": one(`${ofPrompt}/tags/t`),
    "PATCH /repos/:owner/:repo/tags/:tag": one(`${ofPrompt}/tags/t`, { commit_id: randomUUID() }),
    "DELETE /repos/:owner/:repo/tags/:tag": one(`${ofPrompt}/tags/t`),
    "POST /likes/:owner/:repo": one(`/likes/${owner}/${prompt}`, { like: true }),
    "GET /commits/:owner/:repo": one(`/commits/${owner}/${prompt}`),
    "POST /commits/:owner/:repo": one(`/commits/${owner}/${prompt}`, { manifest: {} }),
    "GET /commits/:owner/:repo/:commit": one(`/commits/${owner}/${prompt}/latest`),
    "POST /otel/v1/traces": [
      {
        path: "/otel/v1/traces",
        body: spansOf(names, "probe"),
        headers: { "content-type": "application/json" },
      },
    ],
    "GET /ui/traces/:id": one(`/ui/traces/${root}`),
    "GET /ui/traces/:id/share": one(`/ui/traces/${root}/share`),
    "PUT /ui/traces/:id/share": one(`/ui/traces/${root}/share`),
    "DELETE /ui/traces/:id/share": one(`/ui/traces/${root}/share`),
    "GET /ui/datasets/:id/comments": one(`/ui/datasets/${dataset}/comments`),
    "GET /ui/traces/:id/comments": one(`/ui/traces/${root}/comments`),
    "GET /ui/comments": [
      { path: `/ui/comments?run=${root}` },
      { path: `/ui/comments?example=${example}` },
    ],
    "POST /ui/comments": [
      { path: "/ui/comments", body: { id: randomUUID(), run_id: root, text: "x" }, headers: ada },
      {
        path: "/ui/comments",
        body: { id: randomUUID(), example_id: example, text: "x" },
        headers: ada,
      },
    ],
    "PATCH /ui/comments/:id": [
      { path: `/ui/comments/${names.comment}`, body: { text: "x" }, headers: ada },
    ],
    "DELETE /ui/comments/:id": [{ path: `/ui/comments/${names.comment}`, headers: ada }],
    "GET /ui/trace-runs/:id": one(`/ui/trace-runs/${root}`),
    "GET /ui/runs/words": one(`/ui/runs/words?session=${experiment}&kind=name`),
    "POST /ui/runs/search": [
      { path: "/ui/runs/search", body: { session: [experiment] } },
      {
        path: "/ui/runs/search",
        body: { session: [experiment], filter: `eq(id, "${root}")`, sort: "latency" },
      },
    ],
    "POST /ui/runs/facets": one("/ui/runs/facets", { session: [experiment] }),
    "GET /ui/runs/counts": one(`/ui/runs/counts?session=${experiment}`),
    "GET /ui/jobs/:id": one(`/ui/jobs/${names.jobId}`),
    "POST /ui/jobs/:id/cancel": one(`/ui/jobs/${names.jobId}/cancel`),
    "POST /ui/jobs/:id/retry": one(`/ui/jobs/${names.jobId}/retry`),
    "GET /ui/metrics": one(
      `/ui/metrics?session=${experiment}&from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00Z&group=name`,
    ),
    "GET /ui/threads": one(`/ui/threads?session=${experiment}`),
    "GET /ui/threads/turns": one(`/ui/threads/turns?session=${experiment}&thread=t`),
    "POST /ui/runs/export": one("/ui/runs/export", { session: [experiment], format: "csv" }),
    "DELETE /ui/keys/:id": one(`/ui/keys/${names.keyId}`),
    "PUT /ui/retention": one("/ui/retention", { project_id: experiment, days: 2 }),
    "GET /ui/feedback": one(
      `/ui/feedback?session=${experiment}&key=early&from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z`,
    ),
    "PATCH /ui/webhooks/:id": one(`/ui/webhooks/${names.webhook}`, { name: "x" }),
    "DELETE /ui/webhooks/:id": one(`/ui/webhooks/${names.webhook}`),
    "POST /ui/webhooks/:id/secret": one(`/ui/webhooks/${names.webhook}/secret`, {
      overlap_hours: 1,
    }),
    "GET /ui/webhooks/:id/deliveries": one(`/ui/webhooks/${names.webhook}/deliveries`),
    "POST /ui/webhooks/:id/test": one(`/ui/webhooks/${randomUUID()}/test`),
    "POST /ui/webhooks/:id/resend": one(`/ui/webhooks/${names.webhook}/resend`, {}),
    "GET /ui/deliveries/:id": one(`/ui/deliveries/${root}`),
    "GET /ui/rules": one(`/ui/rules?session=${names.project}`),
    "POST /ui/rules": one("/ui/rules", ruleBody(names.project, names.webhook, "probe")),
    "PATCH /ui/rules/:id": one(`/ui/rules/${names.rule}`, { name: "x" }),
    "DELETE /ui/rules/:id": one(`/ui/rules/${names.rule}`),
    "POST /ui/rules/:id/apply": one(`/ui/rules/${names.rule}/apply`, {}),
    "POST /ui/rules/:id/retry": one(`/ui/rules/${names.rule}/retry`),
    "GET /ui/alerts": one(`/ui/alerts?session=${names.project}`),
    "POST /ui/alerts": one("/ui/alerts", alertBody(names.project, names.webhook, "probe")),
    "PATCH /ui/alerts/:id": one(`/ui/alerts/${names.alert}`, { name: "x" }),
    "DELETE /ui/alerts/:id": one(`/ui/alerts/${names.alert}`),
    "GET /ui/alerts/:id/history": one(`/ui/alerts/${names.alert}/history`),
    "GET /ui/datasets/:id/examples": one(`/ui${ofDataset}/examples`),
    "GET /ui/datasets/:id/diff": one(`/ui${ofDataset}/diff?from_version=good&to_version=latest`),
    "POST /ui/datasets/:id/comparison": one(`/ui${ofDataset}/comparison`, {
      experiment_ids: [experiment],
    }),
    "POST /ui/experiments/estimate": one("/ui/experiments/estimate", {
      dataset_id: dataset,
      repetitions: 1,
      concurrency: 1,
      mapping: {},
      scorers: [],
      judges: [],
      targets: [{ name: "t", prompt: "p", endpoint: "none", model: "m" }],
    }),
    "POST /ui/datasets/:id/import": one(`/ui${ofDataset}/import`, [{ inputs: {} }]),
    "GET /ui/annotation-queues": one(`/ui/annotation-queues?ids=${queue}`),
    "GET /ui/annotation-queues/:id/progress": one(`/ui${ofQueue}/progress`),
    "GET /ui/annotation-queues/:id/runs": one(`/ui${ofQueue}/runs`),
    "POST /ui/annotation-queues/:id/claim": one(`/ui${ofQueue}/claim`, { reviewer: "r" }),
    "POST /ui/annotation-queues/:id/runs/:queueRunId/release": one(
      `/ui${ofQueue}/runs/${entry}/release`,
      { reviewer: "r" },
    ),
    "POST /ui/annotation-queues/:id/runs/:queueRunId/done": one(
      `/ui${ofQueue}/runs/${entry}/done`,
      { reviewer: "r" },
    ),
    "POST /ui/annotation-queues/:id/runs/:queueRunId/reopen": one(
      `/ui${ofQueue}/runs/${entry}/reopen`,
      { reviewer: "r" },
    ),
    "POST /api/v2/runs/query": [
      { path: "/api/v2/runs/query", body: { project_ids: [experiment] } },
      { path: "/api/v2/runs/query", body: { reference_dataset_id: dataset } },
      { path: "/api/v2/runs/query", body: { project_ids: [experiment], ids: [root] } },
    ],
    "GET /api/v2/runs/:id": one(`/api/v2/runs/${root}?${v2Run(names)}`),
    "GET /api/v2/runs/:id/url": one(`/api/v2/runs/${root}/url?${v2Run(names)}`),
    "POST /api/v2/runs/:id/share": one(`/api/v2/runs/${root}/share`, v2Body(names)),
    "DELETE /api/v2/runs/:id/share": one(`/api/v2/runs/${root}/share?${v2Run(names)}`),
    "POST /api/v2/threads/:id/share": one("/api/v2/threads/thread-1/share", {
      project_id: experiment,
    }),
    "GET /api/v2/threads/:id/share": one(`/api/v2/threads/thread-1/share?project_id=${experiment}`),
    "DELETE /api/v2/threads/:id/share": one(
      `/api/v2/threads/thread-1/share?project_id=${experiment}`,
    ),
    "GET /api/v2/traces/:id/runs": one(`/api/v2/traces/${root}/runs?${v2Run(names)}`),
    "POST /api/v2/threads/query": one("/api/v2/threads/query", { project_id: experiment }),
    "GET /api/v2/threads/:id/traces": one(
      `/api/v2/threads/thread-1/traces?project_id=${experiment}`,
    ),
    "POST /api/v2/traces/query": one("/api/v2/traces/query", {
      project_id: experiment,
      trace_ids: [root],
    }),
    "POST /api/v2/threads/stats": one("/api/v2/threads/stats", {
      project_id: experiment,
      select: ["THREAD_COUNT", "TRACE_COUNT"],
    }),
    "GET /api/v2/sessions": one(`/api/v2/sessions?reference_dataset=${dataset}`),
    "GET /api/v2/datasets": one(`/api/v2/datasets?id=${dataset}`),
    "POST /api/v2/datasets/:id/experiment-runs": one(`/api/v2${ofDataset}/experiment-runs`, {
      experiment_ids: [experiment],
      example_ids: [example],
    }),
    "GET /api/v2/threads/:id/stats": one(
      `/api/v2/threads/thread-1/stats?session_id=${experiment}&project_id=${experiment}&select=TRACE_COUNT`,
    ),
  };
}

const v2Run = ({ experiment, root }: Names): string =>
  `project_id=${experiment}&session_id=${experiment}&trace_id=${root}&start_time=2026-11-21T10:11:12.345678Z`;

const v2Body = ({ experiment, root }: Names) => ({
  project_id: experiment,
  session_id: experiment,
  trace_id: root,
  start_time: "2026-11-21T10:11:12.345678Z",
});

const uuids = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;
const times = /\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\d(?:\.?\d+)?(?:Z|\+00:00)?/g;
const links = /https?:\/\/[^"\\ ]+/g;

/** Masks what differs between responses; ids in `kept` stay. */
const maskText = (text: string, kept: ReadonlySet<string> = new Set()): string =>
  text
    .replaceAll(links, "<link>")
    .replaceAll(times, "<time>")
    .replaceAll(uuids, (id) => (kept.has(id) ? id : "<id>"));

/** The comparable parts of a response. */
export const maskResponse = (
  { status, headers, text }: CallResult,
  kept?: ReadonlySet<string>,
) => ({
  status,
  headers: [...headers].filter(([name]) => name !== "date" && name !== "x-request-id"),
  text: maskText(text, kept),
});
