import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../errors.ts";
import type { RunStore } from "../store/run-store.ts";
import type { StoredRun } from "../store/run-row.ts";
import { toListJson, toRunJson } from "../view/run-json.ts";
import { toStatsJson } from "../view/stats-json.ts";
import { parseRunId } from "./ingest.ts";
import { parseRunQuery, toCursor } from "./run-query.ts";
import type { RunQueryBody } from "./run-query.ts";

const jsonType = "application/json; charset=utf-8";

/** `GET /runs/{id}`. */
export async function readRun(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  return sendRun(reply, await store.findRun(idOf(request)));
}

/** `POST /runs/query`. */
export async function queryRuns(
  store: RunStore,
  body: RunQueryBody,
  reply: FastifyReply,
): Promise<unknown> {
  const { query, select } = parseRunQuery(body);
  const { runs, next } = await store.queryRuns(query);
  const cursors = { next: next === undefined ? null : toCursor(next, query.order), prev: null };
  const items = runs.map((run) => toRunJson(run, select));
  return reply.type(jsonType).send(toListJson("runs", items, { cursors, parsed_query: null }));
}

/** `POST /runs/stats`. */
export async function readRunStats(store: RunStore, body: RunQueryBody): Promise<unknown> {
  const { query } = parseRunQuery(body);
  return toStatsJson(await store.runStatistics(query.filter));
}

/** `GET /runs/{id}/share`: the share, or null. */
export async function readRunShare(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const run = await store.findRun(idOf(request));
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const share =
    run.shareToken === null ? null : { run_id: run.row.id, share_token: run.shareToken };
  return reply.type(jsonType).send(JSON.stringify(share));
}

/** `PUT /runs/{id}/share`. Repeated, it answers the same token. */
export async function shareRun(store: RunStore, request: FastifyRequest): Promise<unknown> {
  const id = idOf(request);
  const token = await store.shareRun(id);
  if (token === undefined) {
    throw new RequestError(404, "Run not found");
  }
  return { run_id: id, share_token: token };
}

/** `DELETE /runs/{id}/share`. */
export async function unshareRun(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  await store.unshareRun(idOf(request));
  return reply.type(jsonType).send("null");
}

/** `GET /public/{share_token}/run`: without a key. */
export async function readSharedRun(
  store: RunStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { token } = request.params as { readonly token: string };
  return sendRun(reply, await store.findSharedRun(token));
}

function sendRun(reply: FastifyReply, run: StoredRun | undefined): unknown {
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  return reply.type(jsonType).send(toRunJson(run));
}

const idOf = (request: FastifyRequest): string =>
  parseRunId((request.params as { readonly id: string }).id);
