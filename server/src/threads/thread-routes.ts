import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import { createCursorError, readListCursor, toListCursor } from "../http/list-cursor.ts";
import { firstValue, parseCount, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toCostText, toIso } from "../http/wire-text.ts";
import type { Promised } from "../storage/promised.ts";
import type { Thread, ThreadPosition, ThreadReads, Turn } from "./thread.ts";

/** The part of the store that the handlers of threads use. */
export interface ThreadStore extends RequestScoped<ThreadStore> {
  readonly read: Promised<{ readonly threads: ThreadReads }>;
}

const apiTag = "runs";

/** Maximum number of threads and of turns in one response. */
const maxThreads = 100;
const maxTurns = 200;

/** Milliseconds after which a page of the list ends early. */
const listMs = 150;

/** Maximum number of characters of a thread's id in a request. */
const maxIdChars = 4_000;

/** Adds the routes with which the UI lists threads and shows one. */
export function addUiThreadRoutes(app: FastifyInstance, store: ThreadStore): void {
  app.route({
    ...route(uiEndpoints.listThreads, {
      tag: apiTag,
      summary: "Lists the threads of a project, the most recently active first.",
      query: {
        session: "The id of the project.",
        text: "Text that the ids of the threads must contain.",
        limit: "Maximum number of threads; default 50. A page may be shorter.",
        cursor: "The cursor of the next page, from the previous page.",
      },
    }),
    handler: (request) => listThreads(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.listTurns, {
      tag: apiTag,
      summary: "Lists the turns of a thread in the order of their start.",
      query: {
        session: "The id of the project.",
        thread: "The id of the thread.",
        limit: "Maximum number of turns; default 100.",
        offset: "Number of turns to skip.",
      },
    }),
    handler: (request) => listTurns(store.forRequest(request), request),
  });
}

async function listThreads(store: ThreadStore, request: FastifyRequest): Promise<unknown> {
  const query = request.query as QueryString;
  const cursor = firstValue(query, "cursor");
  const { threads, next, isPartial } = await store.read.threads.list(request.tenantId, {
    projectId: parseId(firstValue(query, "session"), "session"),
    limit: parseCount(query, "limit", { fallback: 50, min: 1, max: maxThreads }),
    withinMs: listMs,
    text: parseShortText(query, "text"),
    ...(cursor === undefined || cursor === "" ? {} : { after: parseCursor(cursor) }),
  });
  return {
    threads: threads.map(toThreadJson),
    cursors: { next: next === undefined ? null : toCursor(next) },
    is_partial: isPartial,
  };
}

async function listTurns(store: ThreadStore, request: FastifyRequest): Promise<unknown> {
  const query = request.query as QueryString;
  const threadId = parseShortText(query, "thread");
  if (threadId === "") {
    throw new RequestError(422, "thread must be the id of a thread");
  }
  const { turns, turnCount, isTruncated } = await store.read.threads.readTurns(request.tenantId, {
    projectId: parseId(firstValue(query, "session"), "session"),
    threadId,
    limit: parseCount(query, "limit", { fallback: 100, min: 1, max: maxTurns }),
    offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
  });
  return { turns: turns.map(toTurnJson), turn_count: turnCount, is_truncated: isTruncated };
}

const toThreadJson = (thread: Thread) => ({
  id: thread.id,
  turn_count: thread.turnCount,
  is_truncated: thread.isTruncated,
  error_count: thread.errorCount,
  first_start_time: toIso(thread.firstStartMicros),
  last_start_time: toIso(thread.lastStartMicros),
  total_tokens: thread.tokens,
  total_cost: toCostText(thread.cost),
  last_message: thread.lastMessage,
  feedback_stats: thread.feedback,
});

const toTurnJson = (turn: Turn) => ({
  run_id: turn.runId,
  trace_id: turn.traceId,
  name: turn.name,
  run_type: turn.runType,
  start_time: toIso(turn.startMicros),
  end_time: turn.endMicros === null ? null : toIso(turn.endMicros),
  status: toStatus(turn),
  total_tokens: turn.tokens,
  total_cost: toCostText(turn.cost),
  feedback_stats: turn.feedback,
});

function toStatus({ hasError, endMicros }: Turn): "error" | "pending" | "success" {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

function parseShortText(query: QueryString, name: string): string {
  const text = firstValue(query, name) ?? "";
  if (text.length > maxIdChars) {
    throw new RequestError(422, `${name} must have at most ${maxIdChars} characters`);
  }
  return text;
}

const toCursor = ({ block, id }: ThreadPosition): string => toListCursor([block, id]);

function parseCursor(cursor: string): ThreadPosition {
  const [block, id] = readListCursor(cursor);
  if (!Number.isSafeInteger(block) || typeof id !== "string") {
    throw createCursorError(cursor);
  }
  return { block: Number(block), id };
}
