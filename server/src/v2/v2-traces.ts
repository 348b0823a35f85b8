import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { Maybe } from "../http/schema-parts.ts";
import { toIso } from "../http/wire-text.ts";
import { parseId } from "../http/query-string.ts";
import {
  toInclusiveEnd,
  createDefaultStart,
  unsupportedMembers,
  pageMembers,
  toPageSize,
  rejectHostedOptions,
  sendPage,
} from "./v2-page.ts";
import { parseSelects, maxRunsPerRead, readV2Runs } from "./v2-runs.ts";
import type { V1RunQuery } from "./v2-runs.ts";
import { parseTime } from "../model/parse-time.ts";

/** Body of `POST /api/v2/traces/query`. */
export const v2TraceQueryBody = Type.Object({
  project_id: Maybe(Type.String({ maxLength: 64 })),
  trace_ids: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10_000 })),
  min_start_time: Maybe(Type.String({ maxLength: 64 })),
  max_start_time: Maybe(Type.String({ maxLength: 64 })),
  trace_filter: Maybe(Type.String()),
  tree_filter: Maybe(Type.String()),
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
  ...unsupportedMembers,
  ...pageMembers,
});

/** Fields that are computed over all runs of a trace. All other fields are those of the root run. */
const aggregateFields: readonly string[] = ["TOTAL_TOKENS", "TOTAL_COST", "FIRST_TOKEN_TIME"];

/** `POST /api/v2/traces/query`: returns root runs, each with the aggregates of its trace. */
export async function queryV2Traces(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2TraceQueryBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, tenantId } = request;
  rejectHostedOptions(request, body);
  const selects = parseSelects(body.selects ?? []);
  const v1Query: V1RunQuery = {
    session: [parseId(body.project_id, "project_id")],
    id: body.trace_ids,
    is_root: true,
    start_time: body.min_start_time ?? createDefaultStart(),
    end_time: toInclusiveEnd(body.max_start_time),
    trace_filter: body.trace_filter,
    tree_filter: body.tree_filter,
    limit: toPageSize(body.page_size),
    cursor: body.cursor,
  };
  const rootFields = selects.filter((name) => !aggregateFields.includes(name));
  const page = await readV2Runs(dependencies, request, { v1Query, selects: rootFields });
  const selectedAggregates = new Set(selects.filter((name) => aggregateFields.includes(name)));
  if (selectedAggregates.size === 0) {
    const items = page.items.map((root) => Buffer.from(`{"root_run":${root.toString()}}`));
    return sendPage(request, reply, { items, nextCursor: page.nextCursor });
  }
  const ids = page.runs.map(({ row }) => row.id);
  const usage = await dependencies.store.read.experiments.readUsageOfTraces(tenantId, ids);
  const items: Buffer[] = [];
  for (const [index, id] of ids.entries()) {
    const { tokens = null, cost = null } = usage.get(id) ?? {};
    const traceAggregates = {
      ...(selectedAggregates.has("TOTAL_TOKENS") && { total_tokens: tokens ?? 0 }),
      ...(selectedAggregates.has("TOTAL_COST") && cost !== null && { total_cost: cost }),
      ...(selectedAggregates.has("FIRST_TOKEN_TIME") &&
        (await readFirstToken(dependencies, request, id))),
    };
    const root = page.items[index]?.toString() ?? "{}";
    items.push(
      Buffer.from(`{"root_run":${root},"trace_aggregates":${JSON.stringify(traceAggregates)}}`),
    );
  }
  return sendPage(request, reply, { items, nextCursor: page.nextCursor });
}

/** Finds the time of the earliest first token among all runs of a trace. */
async function readFirstToken(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  traceId: string,
): Promise<{ readonly first_token_time?: string }> {
  let earliest = Infinity;
  let cursor: string | null = null;
  do {
    const page = await readV2Runs(dependencies, request, {
      v1Query: { trace: traceId, limit: maxRunsPerRead, order: "asc", cursor },
      selects: ["FIRST_TOKEN_TIME"],
    });
    for (const item of page.items) {
      const run = JSON.parse(item.toString()) as { readonly first_token_time?: string };
      earliest = Math.min(earliest, parseTime(run.first_token_time ?? "") ?? Infinity);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return earliest === Infinity ? {} : { first_token_time: toIso(earliest) };
}
