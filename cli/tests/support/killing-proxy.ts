import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** The points of a request at which its sender can be killed. */
export const moments = ["before it arrives", "while it is sent", "before its response"] as const;

/** At which request the sender is killed, and at which point of it. */
export interface Kill {
  /** Number of the request, from 1, counting only requests that contain rows. */
  readonly request: number;
  readonly moment: (typeof moments)[number];
  readonly kill: () => void;
}

export interface KillingProxy {
  readonly url: string;
  /** Starts counting again. With `undefined` no sender is killed. */
  arm: (kill: Kill | undefined) => void;
}

/**
 * Starts a proxy that forwards requests to a server, and kills the client at a chosen point of a chosen
 * request.
 *
 * @param rowPaths matches the paths of the requests that contain rows; by default those with examples.
 */
export async function startKillingProxy(
  target: string,
  rowPaths = /\/examples/,
): Promise<KillingProxy> {
  let armed: Kill | undefined;
  let seen = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const containsRows = request.method === "POST" && rowPaths.test(request.url ?? "");
    const killNow = containsRows && ++seen === armed?.request ? armed : undefined;
    if (killNow?.moment === "before it arrives") {
      killNow.kill();
      response.destroy();
      return;
    }
    const onward = send(new URL(request.url ?? "/", target), {
      method: request.method,
      headers: request.headers,
    });
    // The proxy breaks the connection on purpose.
    onward.on("error", () => response.destroy());
    if (killNow?.moment === "while it is sent") {
      onward.write(body.subarray(0, body.length / 2), () => {
        killNow.kill();
        onward.destroy();
      });
      return;
    }
    onward.end(body);
    const [upstream] = (await once(onward, "response")) as [IncomingMessage];
    const content = await buffer(upstream);
    killNow?.kill();
    response.writeHead(upstream.statusCode ?? 502, upstream.headers).end(content);
  };
  const proxy = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    arm: (kill) => {
      armed = kill;
      seen = 0;
    },
  };
}
