import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { runsIn } from "./runs-in-body.ts";

/** A server on loopback that counts the runs in its requests. */
export interface RunCounter extends AsyncDisposable {
  readonly url: string;
  /** Ids of the runs whose start arrived. */
  readonly started: ReadonlySet<string>;
  /** Ids of the runs whose outputs arrived, with the start or later. */
  readonly ended: ReadonlySet<string>;
}

/** Accepts every run, unless a `listener` is given, which handles all requests instead. */
export async function runCounter(listener?: RequestListener): Promise<RunCounter> {
  const started = new Set<string>();
  const ended = new Set<string>();
  const server = createServer((request, response) => {
    if (listener !== undefined) {
      listener(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const runs = runsIn(Buffer.concat(chunks));
      runs.started.forEach((id) => started.add(id));
      runs.ended.forEach((id) => ended.add(id));
      response.writeHead(request.url === "/info" ? 404 : 202, {
        "content-type": "application/json",
      });
      response.end("{}");
    });
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    started,
    ended,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

const listen = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
