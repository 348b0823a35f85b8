import type { WithLinks } from "../../http/signed-links.ts";
import type { RunStore } from "../run-store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import { toRunJson } from "../serializers/run-json.ts";
import { firstValue, parseCount, parseId } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";
import { createFileLinker } from "./run-handlers.ts";

/**
 * Maximum number of runs on a page. A reader thread is busy while it writes a page, so larger traces need several
 * pages.
 */
const maxPageRuns = 10_000;

/**
 * `GET /ui/traces/{id}`: returns a page of a trace's runs without their payloads: ids, parents, names, times and
 * counts.
 */
export async function readTrace(
  { store }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = request.query as QueryString;
  const after = firstValue(query, "after");
  const since = firstValue(query, "since");
  const json = await store.read.runPages.readTrace(request.tenantId, {
    traceId: readRunId(request),
    limit: parseCount(query, "limit", { fallback: maxPageRuns, min: 1, max: maxPageRuns }),
    ...(after === undefined ? {} : { afterId: parseId(after, "after") }),
    ...(since === undefined
      ? {}
      : { since: parseCount(query, "since", { fallback: 0, max: Number.MAX_SAFE_INTEGER }) }),
  });
  return reply.type("application/json; charset=utf-8").send(json);
}

/** `GET /ui/trace-runs/{id}`: returns a run without the ids of its descendants, because there may be many. */
export async function readTraceRun(
  { store, links }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readRunId(request);
  const { runs } = await store.read.runs.query(request.tenantId, {
    filter: { ids: [id] },
    order: "asc",
    limit: 1,
    withChildren: false,
  });
  const [run] = runs;
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const body = toRunJson(run, { link: createFileLinker(links, request), withCostBasis: true });
  return reply.type("application/json; charset=utf-8").send(body);
}

const readRunId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "run id");
