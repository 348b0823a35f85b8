import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReverseProxy {
  /** The public URL, with the base path and without a trailing slash. */
  readonly url: string;
  /** The URL of the server behind the proxy. */
  target: string;
  /** Paths of requests that were not below the base path. They are answered with 404. */
  readonly outsideRequests: string[];
  close(): Promise<void>;
}

export interface ReverseProxyOptions {
  readonly basePath: string;
  /** Whether requests are passed on with the base path, or without it. */
  readonly keepsBasePath?: boolean;
  /** Whether the Host header is replaced by the address of the server, as nginx does unless it is told otherwise. */
  readonly replacesHost?: boolean;
}

/** Starts a reverse proxy on loopback that publishes a server below a base path. */
export async function startReverseProxy({
  basePath,
  keepsBasePath = false,
  replacesHost = false,
}: ReverseProxyOptions): Promise<ReverseProxy> {
  const outsideRequests: string[] = [];
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const path = incoming.url ?? "/";
    if (!path.startsWith(basePath)) {
      outsideRequests.push(path);
      outgoing.writeHead(404).end();
      return;
    }
    const ownPath = keepsBasePath ? path : path.slice(basePath.length) || "/";
    const target = new URL(proxy.target);
    const upstream = request(
      {
        host: target.hostname,
        port: target.port,
        path: ownPath,
        method: incoming.method,
        headers: {
          ...incoming.headers,
          ...(replacesHost ? { host: target.host } : {}),
          "x-forwarded-for": incoming.socket.remoteAddress,
          "x-forwarded-proto": "http",
        },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  };
  const server = createServer(forward);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const proxy: ReverseProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`,
    target: "http://127.0.0.1:9",
    outsideRequests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
