import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestScoped } from "../http/request-scope.ts";
import { parseId } from "../http/query-string.ts";
import type { WithLinks } from "../http/signed-links.ts";
import { RequestError } from "../model/errors.ts";
import type { SharedScope, ShareReads } from "./share.ts";
import type { Promised } from "../storage/promised.ts";
import type { RunStore } from "../runs/run-store.ts";
import { toRunJson } from "../runs/serializers/run-json.ts";
import { createFileLinker, readRunId } from "../runs/handlers/run-handlers.ts";
import { parseTraceRange, sendTrace } from "../runs/handlers/trace-handlers.ts";

/** The part of the store that requests with a share token use. */
export interface SharedTraceStore extends RequestScoped<SharedTraceStore> {
  readonly read: RunStore["read"] & Promised<{ readonly shares: ShareReads }>;
}

/**
 * `GET /ui/public/{token}`: returns whether the token gives access to a run or to a whole trace, and the id of that run
 * or of the trace's root.
 */
export async function readShare(
  { store }: WithLinks<SharedTraceStore>,
  request: FastifyRequest,
): Promise<unknown> {
  const scope = await findScope(store, request);
  return {
    kind: scope.kind,
    run_id: scope.kind === "trace" ? scope.traceId : scope.runId,
  };
}

/**
 * `GET /ui/public/{token}/trace`: returns the runs of a shared trace, in the form of `GET /ui/traces/{id}`. The token
 * is checked again before each line, so that the response ends early if sharing is stopped meanwhile.
 */
export async function readSharedTrace(
  { store }: WithLinks<SharedTraceStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const range = parseTraceRange(request);
  return sendTrace(reply, async (position) => {
    const { tenantId, traceId } = await findTraceScope(store, request);
    return store.read.runPages.readTrace(tenantId, { traceId, ...range, ...position });
  });
}

/**
 * The members of a run that are returned for a shared trace. Members that concern only the owner are left out: the
 * project, other share tokens, the example that the run was executed on, and the price table from which the run's cost
 * was computed.
 */
const sharedMembers: ReadonlySet<string> = new Set([
  "name",
  "run_type",
  "start_time",
  "end_time",
  "status",
  "parent_run_id",
  "trace_id",
  "dotted_order",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "prompt_cost_details",
  "completion_cost_details",
  "first_token_time",
  "s3_urls",
  "inputs",
  "outputs",
  "error",
  "extra",
  "serialized",
  "events",
  "tags",
]);

/** `GET /ui/public/{token}/runs/{id}`: returns a run of a shared trace. */
export async function readSharedTraceRun(
  { store, links }: WithLinks<SharedTraceStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readRunId(request);
  const { tenantId, traceId } = await findTraceScope(store, request);
  const { runs } = await store.read.runs.query(tenantId, {
    filter: { ids: [id] },
    order: "asc",
    limit: 1,
    withChildren: false,
  });
  const [run] = runs;
  if (run === undefined || run.row.traceId !== traceId) {
    throw new RequestError(404, "Run not found");
  }
  const link = createFileLinker(links, { baseUrl: request.baseUrl, tenantId });
  return reply
    .type("application/json; charset=utf-8")
    .send(toRunJson(run, { select: sharedMembers, link }));
}

type RunScope = Exclude<SharedScope, { readonly kind: "thread" }>;
type TraceScope = Extract<SharedScope, { readonly kind: "trace" }>;

/**
 * Finds what the token in the path gives access to.
 *
 * @throws RequestError 404: no run and no trace is shared with this token.
 */
async function findScope(store: SharedTraceStore, request: FastifyRequest): Promise<RunScope> {
  const { token } = request.params as { readonly token: string };
  const scope = await store.read.shares.find(parseId(token, "share token"));
  if (scope === undefined || scope.kind === "thread") {
    throw new RequestError(404, "Run not found");
  }
  return scope;
}

/** @throws RequestError 404: no whole trace is shared with the token in the path. */
async function findTraceScope(
  store: SharedTraceStore,
  request: FastifyRequest,
): Promise<TraceScope> {
  const scope = await findScope(store, request);
  if (scope.kind !== "trace") {
    throw new RequestError(404, "Trace not found");
  }
  return scope;
}
