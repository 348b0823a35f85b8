import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An address at which no request needs a key. */
export interface TenantProxy {
  readonly url: string;
  readonly port: number;
  readonly modelToken: undefined;
  readonly log: undefined;
  readonly publicUrl: undefined;
  close(): Promise<void>;
}

/**
 * Forwards every request to the server at `url` with a header that selects a tenant, `x-api-key` or `x-tenant-id`, unless
 * the request has that header: a test sees a server that has its tenant alone.
 */
export async function startTenantProxy(
  url: string,
  header: readonly [name: string, value: string],
): Promise<TenantProxy> {
  const { port: targetPort } = new URL(url);
  return startProxy((incoming, outgoing) => {
    forward(incoming, outgoing, { port: Number(targetPort), header });
  });
}

/** Starts a server on loopback that passes each request to a function, and looks like one that was started by itself. */
export async function startProxy(
  forwardRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Promise<TenantProxy> {
  const proxy = createServer(forwardRequest);
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    modelToken: undefined,
    log: undefined,
    publicUrl: undefined,
    close: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}

interface Target {
  readonly port: number;
  readonly header: readonly [name: string, value: string];
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, { port, header }: Target) {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const added = header[0] in incoming.headers ? [] : header;
  const upstream = request(
    { host: "127.0.0.1", port, method, path: url, headers: [...rawHeaders, ...added] },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, response.rawHeaders);
      response.pipe(outgoing);
      response.on("error", () => outgoing.destroy());
    },
  );
  upstream.on("error", () => outgoing.destroy());
  // A client that leaves ends the query at the server, too.
  outgoing.on("close", () => upstream.destroy());
  incoming.pipe(upstream);
}
