import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getResponse } from "msw";
import type { HttpHandler } from "msw";
import { onTestFinished } from "vitest";

export interface MswServer {
  /** Base address of the API. */
  readonly endpoint: string;
  /** Every request in order: method and path with query, headers, and the body as parsed JSON, as bytes if it is multipart, or `undefined` if it is empty. */
  readonly requests: readonly SeenCall[];
}

export interface SeenCall {
  readonly target: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/**
 * Serves msw's handlers on a real port. msw itself only intercepts `fetch`, but the client uses undici's
 * connections. A request without a handler gets status 501. Closed when the test ends.
 */
export async function mswServer(...handlers: readonly HttpHandler[]): Promise<MswServer> {
  const requests: SeenCall[] = [];
  const server = createServer((request, response) => {
    void serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) {
      chunks.push(chunk as Buffer);
    }
    const body = Buffer.concat(chunks);
    const request = new Request(endpoint + (incoming.url ?? "/"), {
      method: incoming.method ?? "GET",
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
      ...(body.length === 0 ? {} : { body }),
    });
    requests.push({
      target: `${incoming.method} ${incoming.url}`,
      headers: request.headers,
      body: bodyOf(body, String(incoming.headers["content-type"])),
    });
    const answer =
      (await getResponse([...handlers], request)) ?? new Response(null, { status: 501 });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint, requests };
}

const bodyOf = (body: Buffer, contentType: string): unknown => {
  if (body.length === 0) {
    return undefined;
  }
  return contentType.startsWith("multipart/") ? body : JSON.parse(body.toString());
};
