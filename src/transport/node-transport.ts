import type { ClientRequest, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Connection } from "../model/options/connection.ts";
import { createTooLargeError, toTransportBody } from "./transport.ts";
import type { Transport, TransportRequest } from "./transport.ts";

/**
 * Sends requests with Node's own HTTP client, without a proxy. It is for a short program that sends a few runs before
 * it ends. Node has this client ready, but loading undici and compiling its parser takes longer than such a program
 * runs. In a longer program undici is faster.
 */
export function createNodeTransport(
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void,
): Transport {
  const { ca, cert, key, socketPath, requestsInFlight } = connection;
  const isSecure = connection.endpoint.startsWith("https:");
  // This is not an import: in Node 24 importing `node:http` takes 30 ms, because an import also loads the parts of the
  // module that are otherwise loaded on demand.
  const http = process.getBuiltinModule(isSecure ? "node:https" : "node:http");
  // One connection more than requests with runs can use, so that a hanging `/info` request does not delay them.
  const agent = new http.Agent({ keepAlive: true, maxSockets: requestsInFlight + 1 });

  function send({ origin, path, method, headers, body, signal }: TransportRequest): ClientRequest {
    const request = http.request(origin + path, {
      agent,
      ca,
      cert,
      key,
      socketPath,
      method,
      headers,
      signal,
    });
    const sendBody = (): void => {
      if (body instanceof Readable) {
        body.once("error", (error) => request.destroy(error));
        body.pipe(request);
      } else {
        request.end(body ?? undefined);
      }
    };
    request.once("socket", (socket) => {
      if (!socket.connecting) {
        sendBody();
        return;
      }
      // Nothing is written before the connection is established: a failed write would hide why TLS failed.
      socket.once(isSecure ? "secureConnect" : "connect", () => {
        onConnected();
        sendBody();
      });
    });
    return request;
  }

  return {
    request: (transportRequest) =>
      new Promise((resolve, reject) => {
        send(transportRequest)
          .on("error", reject)
          .once("response", (response) =>
            resolve({
              statusCode: response.statusCode ?? 0,
              headers: response.headers,
              body: toTransportBody(() => readBody(response, maxResponseBytes)),
            }),
          );
      }),
    destroy() {
      agent.destroy();
      return Promise.resolve();
    },
  };
}

/** Reads a body of at most `maxResponseBytes`. The requester limits the time. */
async function* readBody(
  response: IncomingMessage,
  maxResponseBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxResponseBytes) {
      throw createTooLargeError(maxResponseBytes);
    }
    yield chunk;
  }
}
