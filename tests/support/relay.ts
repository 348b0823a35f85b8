import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What becomes of a request that carries runs. */
export type Passage =
  | "pass"
  /** It arrives, and its answer does not. */
  | "lose the answer"
  /** It does not arrive, and is answered with this status. */
  | 413
  | 503;

export interface Relay {
  readonly url: string;
  /** Where requests go on to; may be changed. */
  target: string;
  /** Of the next requests that carry runs, in turn; then all pass. */
  readonly passages: Passage[];
  /** Bodies of those that carried runs, in order. */
  readonly bodies: Buffer[];
}

/** Passes requests on to a server, or does not; closes with the test. */
export async function relayTo(target: string): Promise<Relay> {
  const server = createServer((request, response) => {
    pass(relay, request, response).catch(() => {
      // Nobody is there: the client sees a broken connection.
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
  const relay: Relay = { url: `http://127.0.0.1:${port}`, target, passages: [], bodies: [] };
  return relay;
}

async function pass(
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
  const passage = hasRuns ? (relay.passages.shift() ?? "pass") : "pass";
  if (hasRuns) {
    relay.bodies.push(body);
  }
  if (typeof passage === "number") {
    response.writeHead(passage).end("{}");
    return;
  }
  const answer = await fetch(relay.target + url, {
    method,
    headers: { "content-type": headers["content-type"] ?? "application/json" },
    ...(method === "GET" ? {} : { body }),
  });
  const text = await answer.text();
  if (passage === "lose the answer") {
    response.destroy();
  } else {
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  }
}
