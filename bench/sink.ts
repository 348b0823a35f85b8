// A server that counts: requests, bytes, and the ids of the runs that arrived. A process of its own,
// forked by a bench; tells its parent the address it listens on.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What arrived, as `POST /check` answers; the body lists the ids that should have. */
export interface SinkReport {
  readonly requests: number;
  readonly bytes: number;
  /** Different runs. */
  readonly runs: number;
  /** Listed and never seen. */
  readonly missing: number;
}

const info = {
  version: "0.5.23",
  batch_ingest_config: {
    use_multipart_endpoint: true,
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: { gzip_body_enabled: false, zstd_compression_enabled: false },
};

/** How every run begins, in a part and in a list alike; no payload of the workload holds it. */
const runHead = Buffer.from('{"id":"');
const idLength = 36;

const seen = new Set<string>();
let requests = 0;
let bytes = 0;

const server = createServer((request, response) => {
  void answer(request, response);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.once("disconnect", () => process.exit());

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.stringify(await take(request));
  response.writeHead(request.method === "POST" ? 202 : 200, { "content-type": "application/json" });
  response.end(body);
}

async function take(request: IncomingMessage): Promise<unknown> {
  const body = await bodyOf(request);
  if (request.url === "/info") {
    return info;
  }
  if (request.url === "/check") {
    return report(body.length === 0 ? [] : body.toString("latin1").split("\n"));
  }
  requests += 1;
  bytes += body.length;
  for (let at = body.indexOf(runHead); at !== -1; at = body.indexOf(runHead, at + idLength)) {
    const start = at + runHead.length;
    seen.add(body.toString("latin1", start, start + idLength));
  }
  return {};
}

const report = (ids: readonly string[]): SinkReport => ({
  requests,
  bytes,
  runs: seen.size,
  missing: ids.reduce((count, id) => count + (seen.has(id) ? 0 : 1), 0),
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
