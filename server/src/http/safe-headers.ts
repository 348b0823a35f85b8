import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";
import { RequestError } from "../model/errors.ts";

/**
 * Headers of every response, errors included: browsers keep to its content type, store no copy, show it in no page of
 * another site, and send no address of this server elsewhere. A handler can override them.
 */
export const safeHeaders = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
} as const;

export function addSafeHeaders(reply: FastifyReply): FastifyReply {
  for (const [name, value] of Object.entries(safeHeaders)) {
    if (!reply.hasHeader(name)) {
      void reply.header(name, value);
    }
  }
  return reply;
}

/**
 * Answers here what Node or Fastify would answer by themselves, without the headers: a request without a
 * Host, one that expects what no server here does, and one that comes while the server closes. For the
 * first and the last `requireHostHeader` and `return503OnClosing` must be off.
 */
export function answerAllHere(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onRequest", async ({ raw: { headers, httpVersion } }) => {
    if (isClosing) {
      throw new RequestError(503, "the server is closing", 1);
    }
    if (httpVersion === "1.1" && headers.host === undefined) {
      throw new RequestError(400, "the header Host is missing: name the server that is meant");
    }
  });
  app.server.on("checkExpectation", (_request, response: ServerResponse) => {
    const body = JSON.stringify({ detail: "the header Expect is served for 100-continue alone" });
    const type = "application/json; charset=utf-8";
    // The body of the request was not asked for and may come all the same.
    response.writeHead(417, { ...safeHeaders, "content-type": type, connection: "close" });
    response.end(body);
  });
}

const headerLines = Object.entries(safeHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** The error of Node's parser for bytes that are not a request. */
interface ParserError extends Error {
  readonly code?: string;
}

/** Answers what is no request of HTTP, or has headers that are too long or too slow. */
export function answerBrokenRequest({ code }: ParserError, socket: Socket): void {
  // Nobody reads it any more, or an answer is on its way.
  if (code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statuses[code ?? ""] ?? "400 Bad Request";
  const body = JSON.stringify({ detail: `not a request of HTTP that can be served: ${status}` });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n${headerLines}\r\n${body}`,
  );
}

const statuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};
