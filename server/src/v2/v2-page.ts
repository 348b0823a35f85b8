import { dayMicros } from "../model/durations.ts";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { parseTimeBound } from "../model/parse-time.ts";
import { toListJson } from "../runs/serializers/run-json.ts";
import { toIso } from "../http/wire-text.ts";
import { firstValue, parseCount } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const pageSizeDefault = 20;
const pageSizeMax = 100;

/** Body members for paging in the second version of the API; responses contain `items` and `next_cursor`. */
export const pageMembers = {
  cursor: Maybe(Type.String({ maxLength: 500 })),
  page_size: Maybe(Type.Integer({ minimum: 1, maximum: 1_000 })),
};

/** Body members of queries in the second version of the API that this server does not support. */
export const unsupportedMembers = {
  ai_search: Maybe(Type.String({ maxLength: 2_000 })),
  thread_filter: Maybe(Type.String()),
  min_feedback_modified_at: Maybe(Type.String({ maxLength: 64 })),
  max_feedback_modified_at: Maybe(Type.String({ maxLength: 64 })),
  include_subtree_usage: Maybe(Type.Boolean()),
};

/**
 * Rejects unsupported options: ignoring them would return a wrong result.
 *
 * @throws RequestError 501: an option that only the hosted service supports. 406: an AI search without streaming, for
 * which the hosted service returns the same status.
 */
export function rejectHostedOptions(request: FastifyRequest, options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in unsupportedMembers) || value === undefined || value === null || value === false) {
      continue;
    }
    if (name === "ai_search" && !acceptsStream(request)) {
      throw new RequestError(406, "ai_search needs Accept: text/event-stream");
    }
    throw new RequestError(501, `${name} is not supported by this server: remove it`);
  }
}

/**
 * Rejects unsupported query parameters of a list.
 *
 * @throws RequestError 501: one of them is set.
 */
export function rejectUnsupportedParameters(query: QueryString, names: readonly string[]): void {
  const unsupportedName = names.find(
    (name) => !["", "false"].includes(firstValue(query, name) ?? ""),
  );
  if (unsupportedName !== undefined) {
    throw new RequestError(501, `${unsupportedName} is not supported by this server: remove it`);
  }
}

/** Returns the number of items on a page: the requested number, but not more than the maximum. */
export const toPageSize = (size: number | null | undefined): number =>
  Math.min(size ?? pageSizeDefault, pageSizeMax);

/** Reads `page_size` from a query string. */
export const parsePageSize = (query: QueryString): number =>
  toPageSize(parseCount(query, "page_size", { fallback: pageSizeDefault, min: 1, max: 1_000 }));

/** Returns the default of `min_start_time` in the second version of the API: a day ago. */
export const createDefaultStart = (): string => toIso(Date.now() * 1_000 - dayMicros);

/**
 * Converts an exclusive upper bound to an inclusive one. A malformed time is returned unchanged: parsing it later
 * reports the error.
 */
export function toInclusiveEnd(time: string | null | undefined): string | undefined {
  const micros = time === undefined || time === null ? undefined : parseTimeBound(time);
  return micros === undefined ? (time ?? undefined) : toIso(micros - 1);
}

/**
 * Parses the cursor of a list, which is the number of items that earlier pages have returned.
 *
 * @throws RequestError 422: this query did not return the cursor.
 */
export function parseOffset(cursor: string | null | undefined): number {
  if (cursor === undefined || cursor === null || cursor === "") {
    return 0;
  }
  if (!/^\d{1,9}$/.test(cursor)) {
    throw new RequestError(
      422,
      `cursor was not returned by this query: ${JSON.stringify(cursor)}; start again without a cursor`,
    );
  }
  return Number(cursor);
}

const acceptsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes("text/event-stream") ?? false;

/**
 * Sends a page whose items are already JSON: as one document, or as a stream of JSON patches if the client accepts
 * server-sent events.
 */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { items, nextCursor }: { readonly items: readonly Buffer[]; readonly nextCursor: string | null },
): FastifyReply {
  return acceptsStream(request)
    ? reply
        .type("text/event-stream; charset=utf-8")
        .send(Readable.from(createPatchEvents(items, nextCursor)))
    : reply
        .type("application/json; charset=utf-8")
        .send(toListJson("items", items, { next_cursor: nextCursor }));
}

/** Creates the events of a page: a page without items, a patch for each item, and the end. */
function* createPatchEvents(
  items: readonly Buffer[],
  nextCursor: string | null,
): Generator<Buffer | string> {
  const root = JSON.stringify({ items: [], next_cursor: nextCursor });
  yield `event: data\ndata: [{"op":"add","path":"","value":${root}}]\n\n`;
  for (const item of items) {
    yield 'event: data\ndata: [{"op":"add","path":"/items/-","value":';
    yield removeLineBreaks(item);
    yield "}]\n\n";
  }
  yield "event: end\ndata: \n\n";
}

/**
 * Replaces line breaks with spaces, because a line break would end the field of an event. In valid JSON, line breaks
 * occur only between values.
 */
const removeLineBreaks = (json: Buffer): Buffer =>
  json.includes("\n") || json.includes("\r")
    ? Buffer.from(json.toString("latin1").replaceAll(/[\r\n]/g, " "), "latin1")
    : json;
