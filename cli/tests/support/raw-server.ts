import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface RawServer {
  readonly url: string;
  /** What was received. */
  readonly requests: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
}

/** Starts a server on the loopback interface that ends with the test. */
export async function startRawServer(listener: RequestListener): Promise<RawServer> {
  const requests: { url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? "", headers: request.headers });
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
