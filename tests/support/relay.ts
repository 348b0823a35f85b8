import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** How the relay handles a request that contains runs. */
export type RelayAction =
  | "pass"
  /** The request reaches the server, but its response is dropped. */
  | "lose the response"
  /** The request does not reach the server, and gets this status. */
  | 413
  | 503;

export interface Relay {
  readonly url: string;
  /** The server to which requests are forwarded; may be changed. */
  target: string;
  /** Actions for the next requests that carry runs, in turn; all later requests pass. */
  readonly actions: RelayAction[];
  /** Bodies of the requests that carried runs, in order. */
  readonly bodies: Buffer[];
}

/** Forwards requests to a server, or fails them as scripted. Closed when the test ends. */
export async function startRelay(target: string): Promise<Relay> {
  const server = createServer((request, response) => {
    relayRequest(relay, request, response).catch(() => {
      // The target is down, so the client gets a broken connection.
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  const relay: Relay = { url: `http://127.0.0.1:${port}`, target, actions: [], bodies: [] };
  return relay;
}

async function relayRequest(
  relay: Relay,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  const { method = "GET", url = "/", headers } = request;
  const body = Buffer.concat(chunks);
  const hasRuns = method === "POST" && url.startsWith("/runs/multipart");
  const action = hasRuns ? (relay.actions.shift() ?? "pass") : "pass";
  if (hasRuns) {
    relay.bodies.push(body);
  }
  if (typeof action === "number") {
    response.writeHead(action).end("{}");
    return;
  }
  const answer = await fetch(relay.target + url, {
    method,
    headers: { "content-type": headers["content-type"] ?? "application/json" },
    ...(method === "GET" ? {} : { body }),
  });
  const text = await answer.text();
  if (action === "lose the response") {
    response.destroy();
  } else {
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  }
}
