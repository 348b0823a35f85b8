import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { all, first, parseId } from "./query-string.ts";
import type { RunDesk } from "./runs.ts";
import { pageBody, pageMax, parseSelects, queryOf, readV2Runs } from "./v2-runs.ts";
import type { RunQuestion } from "./v2-runs.ts";

/** Roots of one answer: threads are put together from them. */
const rootsMax = 10_000;
const pageDefault = 20;

/** Body of `POST /api/v2/threads/query`. */
export const v2ThreadQueryBody = Type.Object({
  project_id: Maybe(Type.String({ maxLength: 64 })),
  min_start_time: Maybe(Type.String({ maxLength: 64 })),
  max_start_time: Maybe(Type.String({ maxLength: 64 })),
  filter: Maybe(Type.String()),
  trace_filter: Maybe(Type.String()),
  tree_filter: Maybe(Type.String()),
  ...pageBody,
});

/** A root run with the fields that threads are made of. */
interface Turn {
  readonly trace_id: string;
  readonly thread_id?: string;
  readonly start_time: string;
  readonly end_time?: string;
  readonly latency_seconds?: number;
  readonly status: string;
  readonly total_tokens?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_cost?: number;
  readonly prompt_cost?: number;
  readonly completion_cost?: number;
  readonly inputs_preview?: string;
  readonly outputs_preview?: string;
  readonly error_preview?: string;
}

const turnFields = [
  "TRACE_ID",
  "THREAD_ID",
  "START_TIME",
  "END_TIME",
  "LATENCY_SECONDS",
  "STATUS",
  "TOTAL_TOKENS",
  "PROMPT_TOKENS",
  "COMPLETION_TOKENS",
  "TOTAL_COST",
  "PROMPT_COST",
  "COMPLETION_COST",
  "INPUTS_PREVIEW",
  "OUTPUTS_PREVIEW",
  "ERROR_PREVIEW",
];

/** `POST /api/v2/threads/query`: the threads of a project, the one that was active last first. */
export async function queryV2Threads(
  desk: RunDesk,
  request: FastifyRequest<{ Body: Static<typeof v2ThreadQueryBody> }>,
): Promise<unknown> {
  const { body } = request;
  const turns = await readTurns(desk, request, {
    session: [parseId(body.project_id, "project_id")],
    start_time: body.min_start_time,
    end_time: body.max_start_time,
    filter: body.filter,
    trace_filter: body.trace_filter,
    tree_filter: body.tree_filter,
  });
  const threads = new Map<string, Turn[]>();
  for (const turn of turns) {
    if (turn.thread_id !== undefined) {
      threads.set(turn.thread_id, [...(threads.get(turn.thread_id) ?? []), turn]);
    }
  }
  const found = [...threads].map(([id, ofThread]) => toThread(id, ofThread));
  const sorted = found.toSorted((one, other) =>
    one.max_start_time < other.max_start_time ? 1 : -1,
  );
  const from = parseOffset(body.cursor ?? undefined);
  const end = from + Math.min(body.page_size ?? pageDefault, pageMax);
  return { items: sorted.slice(from, end), next_cursor: end < sorted.length ? String(end) : null };
}

/** Turns come by their start, the first first. */
function toThread(id: string, turns: readonly Turn[]) {
  const [oldest, newest] = [turns[0], turns.at(-1)];
  const latencies = latenciesOf(turns);
  return {
    thread_id: id,
    count: turns.length,
    trace_id: newest?.trace_id,
    first_trace_id: oldest?.trace_id,
    last_trace_id: newest?.trace_id,
    first_inputs: oldest?.inputs_preview,
    last_outputs: newest?.outputs_preview,
    last_error: newest?.error_preview,
    start_time: oldest?.start_time,
    min_start_time: oldest?.start_time,
    max_start_time: newest?.start_time ?? "",
    latency_p50: quantile(latencies, 0.5),
    latency_p99: quantile(latencies, 0.99),
    num_errored_turns: turns.filter(({ status }) => status === "ERROR").length,
    total_tokens: sum(turns, "total_tokens"),
    total_cost: sum(turns, "total_cost"),
  };
}

/** `GET /api/v2/threads/{id}/traces`: its turns, the newest first. */
export async function listV2ThreadTraces(
  desk: RunDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = queryOf(request);
  const wanted = all(query, "selects") ?? [];
  // `OP` is of the hosted service alone; a latency is called otherwise there than in a run.
  const known = wanted.filter((name) => name !== "OP");
  const selects = parseSelects(
    known.map((name) => (name === "LATENCY" ? "LATENCY_SECONDS" : name)),
  );
  const size = Number(first(query, "page_size") ?? pageDefault);
  const { items, next } = await readV2Runs(desk, request, {
    asked: {
      ...threadOf(request, "project_id"),
      limit: Number.isInteger(size) && size > 0 ? Math.min(size, pageMax) : pageDefault,
      cursor: first(query, "cursor"),
    },
    selects: ["TRACE_ID", ...selects],
  });
  const turns = items.map((item) => {
    const {
      id: _,
      latency_seconds: latency,
      ...turn
    } = JSON.parse(item.toString()) as Turn & {
      readonly id: string;
    };
    return latency === undefined ? turn : { ...turn, latency };
  });
  return reply.send({ items: turns, next_cursor: next });
}

/** `GET /api/v2/threads/{id}/stats`. */
export async function readV2ThreadStats(desk: RunDesk, request: FastifyRequest): Promise<unknown> {
  const selects = all(queryOf(request), "selects") ?? [];
  const turns = await readTurns(desk, request, threadOf(request, "session_id"));
  const latencies = latenciesOf(turns);
  const ends = turns.flatMap(({ end_time: end }) => end ?? []);
  const stats: Readonly<Record<string, unknown>> = {
    turns: turns.length,
    first_start_time: turns[0]?.start_time,
    last_start_time: turns.at(-1)?.start_time,
    last_end_time: ends.toSorted().at(-1),
    latency_p50_seconds: quantile(latencies, 0.5),
    latency_p99_seconds: quantile(latencies, 0.99),
    prompt_tokens: sum(turns, "prompt_tokens"),
    completion_tokens: sum(turns, "completion_tokens"),
    total_tokens: sum(turns, "total_tokens"),
    prompt_cost: sum(turns, "prompt_cost"),
    completion_cost: sum(turns, "completion_cost"),
    total_cost: sum(turns, "total_cost"),
  };
  const names = selects.map((name) => name.toLowerCase().replace(/^(latency_p\d+)$/, "$1_seconds"));
  return Object.fromEntries(Object.entries(stats).filter(([name]) => names.includes(name)));
}

/** The roots of a thread, as a query of the first version. */
function threadOf(request: FastifyRequest, project: "project_id" | "session_id"): RunQuestion {
  const { id } = request.params as { readonly id: string };
  const query = queryOf(request);
  return {
    session: [parseId(first(query, project), project)],
    is_root: true,
    filter: `eq(thread_id, ${JSON.stringify(id)})`,
    search_filter: first(query, "filter"),
  };
}

/** Roots by their start, the first first. @throws RequestError 422: there are more than can be grouped. */
async function readTurns(
  desk: RunDesk,
  request: FastifyRequest,
  asked: RunQuestion,
): Promise<readonly Turn[]> {
  const turns: Turn[] = [];
  let cursor: string | null = null;
  do {
    const page = await readV2Runs(desk, request, {
      asked: { ...asked, is_root: true, order: "asc", limit: pageMax, cursor },
      selects: turnFields,
    });
    turns.push(...page.items.map((item) => JSON.parse(item.toString()) as Turn));
    cursor = page.next;
  } while (cursor !== null && turns.length < rootsMax);
  if (cursor !== null) {
    throw new RequestError(
      422,
      `more than ${rootsMax} traces are in this time: give min_start_time and max_start_time`,
    );
  }
  return turns;
}

const latenciesOf = (turns: readonly Turn[]): readonly number[] =>
  turns
    .flatMap(({ latency_seconds: latency }) => latency ?? [])
    .toSorted((one, other) => one - other);

const quantile = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];

const sum = (
  turns: readonly Turn[],
  name:
    | "total_tokens"
    | "prompt_tokens"
    | "completion_tokens"
    | "total_cost"
    | "prompt_cost"
    | "completion_cost",
): number => turns.reduce((total, turn) => total + (turn[name] ?? 0), 0);

function parseOffset(cursor: string | undefined): number {
  if (cursor === undefined) {
    return 0;
  }
  if (!/^\d{1,6}$/.test(cursor)) {
    throw new RequestError(
      422,
      `cursor is not one that this query returned: ${JSON.stringify(cursor)}`,
    );
  }
  return Number(cursor);
}
