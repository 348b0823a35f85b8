import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** When in the life of a request its sender dies. */
export const moments = ["before it arrives", "in the middle of it", "before its answer"] as const;

/** Which request kills its sender, and when. */
export interface Kill {
  /** Counted from 1, of those that bring examples. */
  readonly request: number;
  readonly moment: (typeof moments)[number];
  readonly kill: () => void;
}

export interface KillingProxy {
  readonly url: string;
  /** Begins to count anew. `undefined`: nobody dies. */
  arm: (kill: Kill | undefined) => void;
}

/** Stands between a client and a server, and kills the client at a chosen point of a chosen request. */
export async function startKillingProxy(target: string): Promise<KillingProxy> {
  let armed: Kill | undefined;
  let seen = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const bringsRows = request.method === "POST" && request.url?.includes("/examples") === true;
    const fate = bringsRows && ++seen === armed?.request ? armed : undefined;
    if (fate?.moment === "before it arrives") {
      fate.kill();
      response.destroy();
      return;
    }
    const onward = send(new URL(request.url ?? "/", target), {
      method: request.method,
      headers: request.headers,
    });
    // Cut off on purpose.
    onward.on("error", () => response.destroy());
    if (fate?.moment === "in the middle of it") {
      onward.write(body.subarray(0, body.length / 2), () => {
        fate.kill();
        onward.destroy();
      });
      return;
    }
    onward.end(body);
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    const content = await buffer(answer);
    fate?.kill();
    response.writeHead(answer.statusCode ?? 502, answer.headers).end(content);
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
