import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

/** The header with the id of a request, in requests and in responses. */
const requestIdHeader = "x-request-id";

/** The ids of requests that are accepted from clients and proxies: they can be written to a log as they are. */
const idPattern = /^[\w.:@-]{8,128}$/;

/**
 * The id of a request: the one that the client or a proxy has given it, so that it is the same in all logs, or a new one
 * if there is none or it is malformed.
 */
export function readRequestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const id = headers[requestIdHeader];
  return typeof id === "string" && idPattern.test(id) ? id : randomUUID();
}

/** Adds the id of the request to each response. */
export function addRequestIds(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ id }, reply) => void reply.header(requestIdHeader, id));
}
