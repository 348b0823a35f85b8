import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { allValues, firstValue, parseId } from "../http/query-string.ts";
import {
  toInclusiveEnd,
  createDefaultStart,
  unsupportedMembers,
  pageMembers,
  toPageSize,
  parseOffset,
  parsePageSize,
  rejectHostedOptions,
  sendPage,
} from "./v2-page.ts";
import { parseRunQuery } from "../runs/handlers/run-query-body.ts";
import type { RunQueryBody } from "../runs/handlers/run-query-body.ts";
import { parseSelects, readQuery, maxRunsPerRead, readV2Runs } from "./v2-runs.ts";
import type { V1RunQuery } from "./v2-runs.ts";
import { computeOverallStats, computeThreadStats, toThread, turnFields } from "./v2-turns.ts";
import type { Turn } from "./v2-turns.ts";

/** Maximum number of root runs that one request groups into threads. */
const maxRoots = 10_000;

const tooManyInRange = `the time range has more than ${maxRoots} traces: narrow it with min_start_time and max_start_time`;

const threadsBodyMembers = {
  project_id: Maybe(Type.String({ maxLength: 64 })),
  min_start_time: Maybe(Type.String({ maxLength: 64 })),
  max_start_time: Maybe(Type.String({ maxLength: 64 })),
  filter: Maybe(Type.String()),
  trace_filter: Maybe(Type.String()),
  tree_filter: Maybe(Type.String()),
  ...unsupportedMembers,
};

const ThreadsBody = Type.Object(threadsBodyMembers);

/** Body of `POST /api/v2/threads/query`. */
export const v2ThreadQueryBody = Type.Object({ ...threadsBodyMembers, ...pageMembers });

const statNames = [
  "THREAD_COUNT",
  "TRACE_COUNT",
  "TOTAL_TOKENS",
  "TOTAL_COST",
  "ERROR_RATE",
  "STREAMING_RATE",
  "LATENCY_P50",
  "LATENCY_P99",
  "MEDIAN_TOKENS",
  "FIRST_TOKEN_P50",
  "FIRST_TOKEN_P99",
  "PROMPT_TOKENS",
  "COMPLETION_TOKENS",
  "PROMPT_COST",
  "COMPLETION_COST",
  "PROMPT_TOKEN_DETAILS",
  "COMPLETION_TOKEN_DETAILS",
  "PROMPT_COST_DETAILS",
  "COMPLETION_COST_DETAILS",
  "THREAD_FEEDBACK_STATS",
] as const;

/** Body of `POST /api/v2/threads/stats`. */
export const v2ThreadsStatsBody = Type.Object({
  ...threadsBodyMembers,
  select: Type.Array(Type.Union(statNames.map((name) => Type.Literal(name))), {
    minItems: 1,
    maxItems: 200,
  }),
});

/** `POST /api/v2/threads/query`: returns the threads of a project, the most recently active first. */
export async function queryV2Threads(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2ThreadQueryBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { body } = request;
  const threads = await readThreads(dependencies, request, body);
  const threadJsons = [...threads].map(([id, turns]) => toThread(id, turns));
  const sorted = threadJsons.toSorted((a, b) => (a.max_start_time < b.max_start_time ? 1 : -1));
  const offset = parseOffset(body.cursor);
  const end = offset + toPageSize(body.page_size);
  return sendPage(request, reply, {
    items: sorted.slice(offset, end).map((thread) => Buffer.from(JSON.stringify(thread))),
    nextCursor: end < sorted.length ? String(end) : null,
  });
}

/**
 * Reads all turns in the time range, grouped by thread. If there are filters, only threads with at least one matching
 * turn are included.
 */
async function readThreads(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  body: Static<typeof ThreadsBody>,
): Promise<ReadonlyMap<string, readonly Turn[]>> {
  rejectHostedOptions(request, body);
  const v1Query: V1RunQuery = {
    session: [parseId(body.project_id, "project_id")],
    start_time: body.min_start_time ?? createDefaultStart(),
    end_time: toInclusiveEnd(body.max_start_time),
  };
  const { filter, trace_filter: traceFilter, tree_filter: treeFilter } = body;
  const isFiltered = [filter, traceFilter, treeFilter].some((text) => (text ?? "") !== "");
  const matchingTurns = isFiltered
    ? await readTurns(dependencies, request, {
        v1Query: { ...v1Query, filter, trace_filter: traceFilter, tree_filter: treeFilter },
        fields: ["THREAD_ID"],
        tooMany: tooManyInRange,
      })
    : [];
  const matchingThreadIds = new Set(matchingTurns.map(({ thread_id: id }) => id));
  const threads = new Map<string, Turn[]>();
  const turnsInRange = await readTurns(dependencies, request, { v1Query, tooMany: tooManyInRange });
  for (const turn of turnsInRange) {
    const { thread_id: id } = turn;
    if (id !== undefined && (!isFiltered || matchingThreadIds.has(id))) {
      const turns = threads.get(id) ?? [];
      threads.set(id, turns);
      turns.push(turn);
    }
  }
  return threads;
}

/** `POST /api/v2/threads/stats`: returns statistics over all threads of a project. */
export async function readV2AllThreadsStats(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2ThreadsStatsBody> }>,
): Promise<unknown> {
  const { body } = request;
  return selectStats(
    body.select,
    computeOverallStats(await readThreads(dependencies, request, body)),
  );
}

/** Selects the requested statistics. In the response, `_seconds` is appended to the names of percentiles. */
const selectStats = (
  selects: readonly string[],
  stats: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const names = selects.map((name) => name.toLowerCase().replace(/_p\d+$/, "$&_seconds"));
  return Object.fromEntries(Object.entries(stats).filter(([name]) => names.includes(name)));
};

/** `GET /api/v2/threads/{id}/traces`: returns the turns of a thread, the newest first. */
export async function listV2ThreadTraces(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = readQuery(request);
  const requestedFields = allValues(query, "selects") ?? [];
  // The field `OP` exists only in the hosted service, so it is ignored. The latency of a turn is named `LATENCY`, while
  // that of a run is `LATENCY_SECONDS`.
  const runFields = requestedFields.filter((name) => name !== "OP" && name !== "TURN_NUMBER");
  const selects = parseSelects(
    runFields.map((name) => (name === "LATENCY" ? "LATENCY_SECONDS" : name)),
  );
  const { items, nextCursor } = await readV2Runs(dependencies, request, {
    v1Query: {
      ...toV1ThreadQuery(request, "project_id"),
      trace_filter: firstValue(query, "trace_filter"),
      tree_filter: firstValue(query, "tree_filter"),
      limit: parsePageSize(query),
      cursor: firstValue(query, "cursor"),
    },
    selects: ["TRACE_ID", ...selects],
  });
  // The number of a turn is its position in the whole thread, regardless of the page and the filters.
  const { filter: threadFilter, session } = toV1ThreadQuery(request, "project_id");
  const numberedTurns = requestedFields.includes("TURN_NUMBER")
    ? await readTurns(dependencies, request, {
        v1Query: { session, filter: threadFilter },
        fields: ["TRACE_ID"],
        tooMany: `the thread has more than ${maxRoots} traces, too many to number them: remove TURN_NUMBER from selects`,
      })
    : [];
  const turnNumbers = new Map(
    numberedTurns.map(({ trace_id: trace }, index) => [trace, index + 1]),
  );
  const readRoots = items.map(
    (item) => JSON.parse(item.toString()) as Turn & { readonly id: string },
  );
  const roots = requestedFields.some((name) => costFields.includes(name))
    ? await addTraceCosts(dependencies, request, readRoots)
    : readRoots;
  const turns = roots.map((root) => {
    const { id: _, latency_seconds: latency, ...costs } = root;
    const turn = omitUnselectedCosts(costs, requestedFields);
    return {
      ...turn,
      ...(latency === undefined ? {} : { latency }),
      ...(numberedTurns.length === 0 ? {} : { turn_number: turnNumbers.get(turn.trace_id) }),
    };
  });
  return reply.send({ items: turns, next_cursor: nextCursor });
}

/** `GET /api/v2/threads/{id}/stats`: returns statistics of a thread. */
export async function readV2ThreadStats(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
): Promise<unknown> {
  const selects = allValues(readQuery(request), "selects") ?? [];
  const v1Query = toV1ThreadQuery(request, "session_id");
  const turns = await readTurns(dependencies, request, {
    v1Query,
    tooMany: `more than ${maxRoots} traces of the thread match: pass a filter that selects fewer, such as start_time > 2026-01-31`,
  });
  const stats = computeThreadStats(turns);
  if (!selects.includes("FEEDBACK_STATS")) {
    return selectStats(selects, stats);
  }
  const definedMembers = Object.entries(v1Query).filter(([, value]) => value !== undefined);
  const { query } = parseRunQuery(Object.fromEntries(definedMembers) as RunQueryBody);
  const feedback = await dependencies.store.read.feedback.readStatsOfFilter(
    request.tenantId,
    query.filter,
  );
  return selectStats(selects, { ...stats, feedback_stats: feedback });
}

/** Removes the costs that the request did not select. */
const omitUnselectedCosts = <Item extends object>(turn: Item, selects: readonly string[]): Item =>
  Object.fromEntries(
    Object.entries(turn).filter(([name]) => {
      const field = name.toUpperCase();
      return !costFields.includes(field) || selects.includes(field);
    }),
  ) as Item;

const costFields = ["TOTAL_COST", "PROMPT_COST", "COMPLETION_COST"];

/**
 * Replaces the costs of turns, which are root runs, with the costs of all model calls in their traces. A turn keeps the
 * cost that it reports itself if no model call has a cost.
 */
async function addTraceCosts<Item extends Turn>(
  { store }: WithLinks<Store>,
  { tenantId }: FastifyRequest,
  turns: readonly Item[],
): Promise<readonly Item[]> {
  const traceIds = turns.map(({ trace_id: traceId }) => traceId);
  const usageByTrace = await store.read.experiments.readUsageOfTraces(tenantId, traceIds);
  return turns.map((turn) => {
    const {
      cost = null,
      promptCost = null,
      completionCost = null,
    } = usageByTrace.get(turn.trace_id) ?? {};
    return {
      ...turn,
      ...(cost !== null && { total_cost: cost }),
      ...(promptCost !== null && { prompt_cost: promptCost }),
      ...(completionCost !== null && { completion_cost: completionCost }),
    };
  });
}

/** Creates the query for the root runs of a thread, in the form of the first version of the API. */
function toV1ThreadQuery(
  request: FastifyRequest,
  projectParameter: "project_id" | "session_id",
): V1RunQuery {
  const { id } = request.params as { readonly id: string };
  const query = readQuery(request);
  return {
    session: [parseId(firstValue(query, projectParameter), projectParameter)],
    is_root: true,
    filter: `eq(thread_id, ${JSON.stringify(id)})`,
    search_filter: firstValue(query, "filter"),
  };
}

/**
 * Reads the turns of threads, which are root runs, in the order of their start times.
 *
 * @throws RequestError 422: there are more root runs than can be grouped.
 */
async function readTurns(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  {
    v1Query,
    fields = turnFields,
    tooMany,
  }: {
    readonly v1Query: V1RunQuery;
    readonly fields?: readonly string[];
    /** The error if there are more root runs than can be grouped: how the caller can read fewer. */
    readonly tooMany: string;
  },
): Promise<readonly Turn[]> {
  const turns: Turn[] = [];
  let cursor: string | null = null;
  do {
    const page = await readV2Runs(dependencies, request, {
      v1Query: { ...v1Query, is_root: true, order: "asc", limit: maxRunsPerRead, cursor },
      selects: fields,
    });
    const pageTurns = page.items.map((item) => JSON.parse(item.toString()) as Turn);
    turns.push(
      ...(fields.some((name) => costFields.includes(name))
        ? await addTraceCosts(dependencies, request, pageTurns)
        : pageTurns),
    );
    cursor = page.nextCursor;
  } while (cursor !== null && turns.length < maxRoots);
  if (cursor !== null) {
    throw new RequestError(422, tooMany);
  }
  return turns;
}
