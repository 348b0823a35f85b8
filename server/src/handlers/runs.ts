import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { StoredRun } from "../store/run-row.ts";
import { toListJson, toRunJson } from "../view/run-json.ts";
import { toStatsJson } from "../view/stats-json.ts";
import { parseRunQuery, toCursor } from "./run-query.ts";
import type { RunQueryBody } from "./run-query.ts";
import { parseId } from "./query-string.ts";

const jsonType = "application/json; charset=utf-8";

/** `GET /runs/{id}`. */
export async function readRun(
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  return sendRun(reply, await store.read.runs.find(request.tenantId, idOf(request)));
}

/** `POST /runs/query`. */
export async function queryRuns(
  store: Store,
  { body, tenantId }: FastifyRequest<{ Body: RunQueryBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { query, select } = parseRunQuery(body);
  const { runs, next } = await store.read.runs.query(tenantId, query);
  const cursors = { next: next === undefined ? null : toCursor(next, query.order), prev: null };
  const items = runs.map((run) => toRunJson(run, select));
  return reply.type(jsonType).send(toListJson("runs", items, { cursors, parsed_query: null }));
}

/** `POST /runs/stats`. */
export async function readRunStats(
  store: Store,
  { body, tenantId }: FastifyRequest<{ Body: RunQueryBody }>,
): Promise<unknown> {
  const { query } = parseRunQuery(body);
  return toStatsJson(await store.read.runs.statistics(tenantId, query.filter));
}

/** `GET /runs/{id}/share`: the share, or null. */
export async function readRunShare(
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const run = await store.read.runs.find(request.tenantId, idOf(request));
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const share =
    run.shareToken === null ? null : { run_id: run.row.id, share_token: run.shareToken };
  return reply.type(jsonType).send(JSON.stringify(share));
}

/** `PUT /runs/{id}/share`. Repeated, it answers the same token. */
export async function shareRun(store: Store, request: FastifyRequest): Promise<unknown> {
  const id = idOf(request);
  const token = await store.write.runs.share(request.tenantId, id);
  return { run_id: id, share_token: token };
}

/** `DELETE /runs/{id}/share`. */
export async function unshareRun(
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  await store.write.runs.unshare(request.tenantId, idOf(request));
  return reply.type(jsonType).send("null");
}

/** `GET /public/{share_token}/run`: without a key. */
export async function readSharedRun(
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { token } = request.params as { readonly token: string };
  return sendRun(reply, await store.read.runs.findShared(token));
}

function sendRun(reply: FastifyReply, run: StoredRun | undefined): unknown {
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  return reply.type(jsonType).send(toRunJson(run));
}

const idOf = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "run id");
