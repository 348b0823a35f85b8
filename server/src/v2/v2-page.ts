import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { parseTimeBound } from "../model/parse-time.ts";
import { toListJson } from "../runs/serializers/run-json.ts";
import { toIso } from "../http/wire-text.ts";
import { first, parseCount } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const pageDefault = 20;
const pageMax = 100;
const daysMicros = 24 * 60 * 60 * 1_000_000;

/** What pages of the second version take: `items` and `next_cursor` come back. */
export const pageBody = {
  cursor: Maybe(Type.String({ maxLength: 500 })),
  page_size: Maybe(Type.Integer({ minimum: 1, maximum: 1_000 })),
};

/** What queries of the second version take beside a page, and this server has no means to answer. */
export const hostedBody = {
  ai_search: Maybe(Type.String({ maxLength: 2_000 })),
  thread_filter: Maybe(Type.String()),
  min_feedback_modified_at: Maybe(Type.String({ maxLength: 64 })),
  max_feedback_modified_at: Maybe(Type.String({ maxLength: 64 })),
  include_subtree_usage: Maybe(Type.Boolean()),
};

/**
 * Refuses options that would change what is found: an answer that ignored them would be wrong.
 *
 * @throws RequestError 501: an option that only the hosted service has. 406: as the hosted service answers a
 *   search that can't be streamed.
 */
export function refuseHosted(request: FastifyRequest, options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in hostedBody) || value === undefined || value === null || value === false) {
      continue;
    }
    if (name === "ai_search" && !wantsStream(request)) {
      throw new RequestError(406, "ai_search needs Accept: text/event-stream");
    }
    throw new RequestError(501, `${name} is not supported by this server: leave it out`);
  }
}

/** Refuses query parameters of a list that this server can't answer. @throws RequestError 501: one is given. */
export function refuseParameters(query: QueryString, names: readonly string[]): void {
  const given = names.find((name) => !["", "false"].includes(first(query, name) ?? ""));
  if (given !== undefined) {
    throw new RequestError(501, `${given} is not supported by this server: leave it out`);
  }
}

export const pageSize = (size: number | null | undefined): number =>
  Math.min(size ?? pageDefault, pageMax);

/** `page_size` of a query string. */
export const parsePageSize = (query: QueryString): number =>
  pageSize(parseCount(query, "page_size", { fallback: pageDefault, min: 1, max: 1_000 }));

/** Where a query of the second version begins without `min_start_time`: a day ago. */
export const dayAgo = (): string => toIso(Date.now() * 1_000 - daysMicros);

/** An upper bound that is not itself meant, as one that is. What is no time is refused where it is read. */
export function before(time: string | null | undefined): string | undefined {
  const micros = time === undefined || time === null ? undefined : parseTimeBound(time);
  return micros === undefined ? (time ?? undefined) : toIso(micros - 1);
}

/** Of lists whose cursor is how many items were given already. @throws RequestError 422: it is another's. */
export function parseOffset(cursor: string | null | undefined): number {
  if (cursor === undefined || cursor === null || cursor === "") {
    return 0;
  }
  if (!/^\d{1,9}$/.test(cursor)) {
    throw new RequestError(
      422,
      `cursor is not one that this query returned: ${JSON.stringify(cursor)}; begin again without one`,
    );
  }
  return Number(cursor);
}

const wantsStream = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes("text/event-stream") ?? false;

/** A page, whose items are JSON already: whole, or as a stream of patches where the client asks for one. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { items, next }: { readonly items: readonly Buffer[]; readonly next: string | null },
): FastifyReply {
  return wantsStream(request)
    ? reply.type("text/event-stream; charset=utf-8").send(Readable.from(patches(items, next)))
    : reply
        .type("application/json; charset=utf-8")
        .send(toListJson("items", items, { next_cursor: next }));
}

/** The page without its items, each item as it is added, and the end. */
function* patches(items: readonly Buffer[], next: string | null): Generator<Buffer | string> {
  const root = JSON.stringify({ items: [], next_cursor: next });
  yield `event: data\ndata: [{"op":"add","path":"","value":${root}}]\n\n`;
  for (const item of items) {
    yield 'event: data\ndata: [{"op":"add","path":"/items/-","value":';
    yield onOneLine(item);
    yield "}]\n\n";
  }
  yield "event: end\ndata: \n\n";
}

/** A line break ends a field of an event. In JSON as it was received one can only stand between values. */
const onOneLine = (json: Buffer): Buffer =>
  json.includes("\n") || json.includes("\r")
    ? Buffer.from(json.toString("latin1").replaceAll(/[\r\n]/g, " "), "latin1")
    : json;
