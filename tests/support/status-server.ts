import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { runsIn } from "./runs-in-body.ts";

export interface StatusServer {
  readonly url: string;
  readonly ended: Set<string>;
  status: number;
}

/** A server that responds with `status`, which a test may change. It keeps the ids of the ends that it accepted with 202. Closed when the test ends. */
export async function startStatusServer(status: number): Promise<StatusServer> {
  const state = { url: "", ended: new Set<string>(), status };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (state.status === 202) {
        runsIn(Buffer.concat(chunks)).ended.forEach((id) => state.ended.add(id));
      }
      response.writeHead(state.status).end("{}");
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
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}
