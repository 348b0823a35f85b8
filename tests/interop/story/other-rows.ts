import { randomUUID } from "node:crypto";
import type { Client } from "millrace";
import { expect } from "vitest";
import type { EndpointName } from "../../../src/model/endpoints.ts";
import { recordTraceWith } from "./record-trace.ts";

/** Rows of the endpoint table that our client does not send, with the program that does. */
export const otherRows: Readonly<Partial<Record<EndpointName, string>>> = {
  readRunShare: "the platform's npm client; ours shares, which answers the same link again",
  deleteProjects: "the platform's page; ours deletes one at a time",
  giveFeedback: "the form behind a feedback token's link, which needs no client",
  giveFeedbackByLink: "whoever opens a feedback token's link",
  deleteAnnotationQueues: "the platform's page; ours deletes one at a time",
  listQueuesOfRun: "the platform's page",
  updatePromptTag: "the platform's npm client; ours moves a tag by making it anew",
  sendSpans: "OpenTelemetry's exporters",
};

interface RowRequest {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
}

type SendRequest = (send: RowRequest) => Promise<unknown>;

/** Sends each of these requests as those programs do, and sends runs in the formats that a server with multipart never receives. */
export async function sendOtherRows(endpoint: string, client: Client): Promise<void> {
  const send: SendRequest = async ({ method, path, json }) => {
    const response = await fetch(endpoint + path, {
      method,
      headers: { "x-api-key": "key", "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    expect({ path, status: response.status, text }).toMatchObject({
      status: response.ok ? response.status : 200,
    });
    return JSON.parse(text) as unknown;
  };
  await sendRuns(send);
  await requestRunRows(send, client);
  await requestRemainingRows(send, client);
}

async function sendRuns(send: SendRequest): Promise<void> {
  const [one, two] = [runOf("one"), runOf("two")];
  await send({ method: "POST", path: "/runs", json: one });
  await send({ method: "PATCH", path: `/runs/${one.id}`, json: { outputs: { a: 1 } } });
  await send({ method: "POST", path: "/runs/batch", json: { post: [two], patch: [] } });
  expect(await send({ method: "GET", path: `/runs/${one.id}` })).toMatchObject({
    outputs: { a: 1 },
  });
  expect(await send({ method: "GET", path: `/runs/${two.id}` })).toMatchObject({ name: "two" });
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "span",
    startTimeUnixNano: "1795255872345000000",
    endTimeUnixNano: "1795255872346000000",
    attributes: [{ key: "langsmith.trace.session_name", value: { stringValue: "of the spans" } }],
  };
  const resourceSpans = [{ scopeSpans: [{ spans: [span] }] }];
  await send({ method: "POST", path: "/otel/v1/traces", json: { resourceSpans } });
  const [project] = (await send({ method: "GET", path: "/sessions?name=of%20the%20spans" })) as {
    readonly id: string;
  }[];
  const json = { session: [project?.id] };
  const found = await send({ method: "POST", path: "/runs/query", json });
  expect(found).toMatchObject({ runs: [{ name: "span" }] });
}

function runOf(name: string) {
  const id = randomUUID();
  return {
    id,
    trace_id: id,
    dotted_order: `20261121T101112345000Z${id}`,
    name,
    run_type: "chain",
    start_time: "2026-11-21T10:11:12.345Z",
    session_name: "of other clients",
  };
}

async function requestRunRows(send: SendRequest, client: Client): Promise<void> {
  const { rootId } = await recordTraceWith(client)();
  const share = { method: "GET", path: `/runs/${rootId}/share` };
  expect(await send(share)).toBeNull();
  const { shareToken } = await client.runs.share(rootId);
  expect(await send(share)).toEqual({ run_id: rootId, share_token: shareToken });

  const { url } = await client.feedback.createToken(rootId, "by-link");
  const path = url.slice(url.indexOf("/feedback/tokens/"));
  await send({ method: "POST", path, json: { score: 1, comment: "posted", metadata: {} } });
  await send({ method: "GET", path: `${path}?score=0&comment=opened` });
  const listed = await client.feedback.list({ runIds: [rootId], keys: ["by-link"] }).toArray();
  expect(new Set(listed.map(({ comment }) => comment))).toEqual(new Set(["opened", "posted"]));

  const queue = await client.annotationQueues.create({ name: "of other clients" });
  await client.annotationQueues.addRuns(queue.id, { runIds: [rootId] });
  const queues = await send({ method: "GET", path: `/annotation-queues/${rootId}/queues` });
  expect(queues).toMatchObject([{ id: queue.id }]);
  await send({ method: "DELETE", path: `/annotation-queues?queue_ids=${queue.id}` });
  await expect(client.annotationQueues.read(queue.id)).rejects.toMatchObject({ status: 404 });
}

async function requestRemainingRows(send: SendRequest, client: Client): Promise<void> {
  const { prompts, projects } = client;
  const project = await projects.create({ name: "to be deleted" });
  await send({ method: "DELETE", path: `/sessions?session_ids=${project.id}` });
  expect(await projects.has({ projectId: project.id })).toBe(false);

  await prompts.create("tagged");
  await prompts.commit("tagged", { manifest: { v: 1 }, tags: ["stable"] });
  const commit = await prompts.commit("tagged", { manifest: { v: 2 } });
  const path = "/repos/-/tagged/tags/stable";
  await send({ method: "PATCH", path, json: { commit_id: commit.id } });
  expect(await prompts.readTag("tagged", { tag: "stable" })).toMatchObject({
    commitHash: commit.commitHash,
  });
}
