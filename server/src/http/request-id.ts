import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

/** The header with the id of a request, in requests and in responses. */
const requestIdHeader = "x-request-id";

/** Matches the request ids that are accepted from clients and proxies. They can be written to a log as they are. */
const idPattern = /^[\w.:@-]{8,128}$/;

/**
 * Returns the id of a request. An id that the client or a proxy has sent is kept, so that it is the same in all logs.
 * If there is none, or it is malformed, a new one is created.
 */
export function readRequestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const id = headers[requestIdHeader];
  return typeof id === "string" && idPattern.test(id) ? id : randomUUID();
}

export function addRequestIds(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ id }, reply) => void reply.header(requestIdHeader, id));
}
