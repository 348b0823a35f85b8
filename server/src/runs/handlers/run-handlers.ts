import type { WithLinks, SignedLinks } from "../../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import { readToken } from "../../storage/share-token.ts";
import type { RunStore } from "../run-store.ts";
import type { RunFile, StoredRun } from "../run-row.ts";
import { toRunJson } from "../serializers/run-json.ts";
import type { RunView } from "../serializers/run-json.ts";
import { toStatsJson } from "../serializers/stats-json.ts";
import { parseRunQuery } from "./run-query-body.ts";
import type { RunQueryBody } from "./run-query-body.ts";
import { parseId } from "../../http/query-string.ts";

const jsonType = "application/json; charset=utf-8";

/** Returns a function that creates the signed URL of an attachment, on the address of the request. */
export const createFileLinker =
  (links: SignedLinks, request: Pick<FastifyRequest, "baseUrl" | "tenantId">) =>
  (file: RunFile): string =>
    links.createUrl(request, { kind: "run", tenantId: request.tenantId, ...file });

/** `GET /runs/{id}`: returns a run. */
export async function readRun(
  { store, links }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { tenantId } = request;
  const id = readRunId(request);
  const run = await store.read.runs.find(tenantId, id);
  const feedbackStats = await store.read.feedback.readStatsOfRuns(tenantId, [id]);
  const createFileUrl = createFileLinker(links, request);
  return sendRun(reply, run, { feedbackStats: feedbackStats.get(id), link: createFileUrl });
}

/** `POST /runs/query`: returns a page of the runs that match a filter. */
export async function queryRuns(
  { store, links }: WithLinks<RunStore>,
  request: FastifyRequest<{ Body: RunQueryBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { query, select } = parseRunQuery(request.body);
  const signer = links.createSigner(request);
  const json = await store.read.runPages.query(request.tenantId, query, { select, signer });
  return reply.type(jsonType).send(json);
}

/** `POST /runs/stats`: returns statistics of the runs that match a filter. */
export async function readRunStats(
  store: RunStore,
  { body, tenantId }: FastifyRequest<{ Body: RunQueryBody }>,
): Promise<unknown> {
  const { query } = parseRunQuery(body);
  const [statistics, feedbackStats] = await Promise.all([
    store.read.runs.readStatistics(tenantId, query.filter),
    store.read.feedback.readStatsOfFilter(tenantId, query.filter),
  ]);
  return toStatsJson(statistics, feedbackStats);
}

/** `GET /runs/{id}/share`: returns the run's id and share token; null if the run is not shared. */
export async function readRunShare(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const run = await store.read.runs.find(request.tenantId, readRunId(request));
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const token = readToken(run.shareToken);
  const share = token === null ? null : { run_id: run.row.id, share_token: token };
  return reply.type(jsonType).send(JSON.stringify(share));
}

/** `PUT /runs/{id}/share`: shares a run. Repeating the request returns the same token. */
export async function shareRun(store: RunStore, request: FastifyRequest): Promise<unknown> {
  const id = readRunId(request);
  const token = await store.write.runs.share(request.tenantId, id);
  return { run_id: id, share_token: token };
}

/** `DELETE /runs/{id}/share`: stops sharing a run, so that its token is no longer valid. */
export async function unshareRun(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  await store.write.runs.unshare(request.tenantId, readRunId(request));
  return reply.type(jsonType).send("null");
}

/** `GET /public/{share_token}/run`: returns a shared run. The request needs no access key. */
export async function readSharedRun(
  { store, links }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { token } = request.params as { readonly token: string };
  const run = await store.read.runs.findShared(token);
  const { baseUrl } = request;
  const createFileUrl = run && createFileLinker(links, { baseUrl, tenantId: run.tenantId });
  return sendRun(reply, run, { link: createFileUrl });
}

function sendRun(reply: FastifyReply, run: StoredRun | undefined, view: RunView): unknown {
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  return reply.type(jsonType).send(toRunJson(run, view));
}

/** Returns the id of the run in the path of the request. */
export const readRunId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "run id");
