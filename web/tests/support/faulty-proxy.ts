import { Agent, createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { setTimeout } from "node:timers/promises";

/** Answers a request for data in place of the server, or returns `"pass"`. */
export type Fault = (
  path: string,
  response: ServerResponse,
) => "pass" | "answered" | Promise<"pass">;

/** No fault: every request reaches the server. */
export const noFault: Fault = () => "pass";

/** A proxy in front of a server, in which a page's requests for data can be made to fail. */
export interface FaultyProxy {
  readonly url: string;
  /** Applies to what scripts of the page fetch. The page itself and its files always load. */
  fault: Fault;
  /** Milliseconds to wait after each part of a download, so that it takes long enough to be watched. */
  downloadPauseMs: number;
  close(): Promise<void>;
}

/**
 * Starts a proxy on loopback. A page that is intercepted in the browser instead loads without its cache, and compiles all
 * scripts again each time, which takes longer than most tests.
 */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  const pauseBetweenParts = async function* (parts: AsyncIterable<Buffer>) {
    for await (const part of parts) {
      yield part;
      if (proxy.downloadPauseMs > 0) {
        await setTimeout(proxy.downloadPauseMs);
      }
    }
  };
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, headers, url: path } = incoming;
    const upstream = request({ agent, hostname, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      if (answer.headers["content-disposition"] !== undefined) {
        // A download that the server breaks off also breaks off here.
        pipeline(answer, pauseBetweenParts, outgoing, () => undefined);
      } else {
        answer.pipe(outgoing);
      }
    });
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  };
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const isFetch = incoming.headers["sec-fetch-dest"] === "empty";
    const { pathname } = new URL(incoming.url ?? "/", target);
    const result = isFetch ? await proxy.fault(pathname, outgoing) : "pass";
    if (result === "pass") {
      forward(incoming, outgoing);
    }
  };
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: noFault,
    downloadPauseMs: 0,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
