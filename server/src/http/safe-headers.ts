import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";
import { RequestError } from "../model/errors.ts";

/**
 * Headers of every response, including errors. They tell browsers to use the content type as it is, not to store a
 * copy, not to embed the response in another site, and not to send URLs of this server to other sites. A handler can
 * override them.
 */
export const safeHeaders = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
} as const;

const safeHeaderEntries = Object.entries(safeHeaders);

/** Adds the security headers to a response, except those that it has already. */
export function addSafeHeaders(reply: FastifyReply): FastifyReply {
  for (const [name, value] of safeHeaderEntries) {
    if (!reply.hasHeader(name)) {
      void reply.header(name, value);
    }
  }
  return reply;
}

/**
 * Handles the requests to which Node or Fastify would otherwise respond without {@link safeHeaders}: requests without
 * a Host header, requests with an unsupported Expect header, and requests that arrive while the server closes. The
 * options `requireHostHeader` and `return503OnClosing` must be off, because otherwise Node and Fastify respond first.
 */
export function addProtocolErrorHandlers(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onRequest", ({ raw: { headers, httpVersion } }, _reply, done) => {
    if (isClosing) {
      throw new RequestError(503, "the server is closing", 1);
    }
    if (httpVersion === "1.1" && headers.host === undefined) {
      throw new RequestError(400, "the Host header is missing");
    }
    done();
  });
  app.server.on("checkExpectation", (_request, response: ServerResponse) => {
    const body = JSON.stringify({ detail: "the Expect header supports only 100-continue" });
    const type = "application/json; charset=utf-8";
    // Close the connection: the client may send the body of the request without waiting for "100 Continue".
    response.writeHead(417, { ...safeHeaders, "content-type": type, connection: "close" });
    response.end(body);
  });
}

const headerLines = safeHeaderEntries.map(([name, value]) => `${name}: ${value}\r\n`).join("");

/** The error of Node's HTTP parser for bytes that are not a request. */
interface ParserError extends Error {
  readonly code?: string;
}

/** Responds to bytes that are not a valid HTTP request, or whose headers are too long or arrive too slowly. */
export function sendParserError({ code }: ParserError, socket: Socket): void {
  // The client has disconnected, or a response is already being sent, so no response is possible.
  if (code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statusLines[code ?? ""] ?? "400 Bad Request";
  const body = JSON.stringify({ detail: `invalid HTTP request: ${status}` });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n${headerLines}\r\n${body}`,
  );
}

const statusLines: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};
