// A server that counts: requests, bytes, and the runs that arrived whole, whoever sent them. A process
// of its own, started by a bench; tells its parent the address it listens on. Its first argument is how
// many milliseconds it takes to answer a request that carries runs.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { arrivalsIn } from "./arrivals.ts";
import { acknowledgedHeader } from "./drivers/acknowledged.ts";

/** What arrived, as `POST /check` answers; the body lists the ids that should have. */
export interface SinkReport {
  readonly requests: number;
  readonly bytes: number;
  /** Different runs. */
  readonly runs: number;
  /** Listed and never seen whole. */
  readonly missing: number;
}

const info = {
  version: "0.5.23",
  batch_ingest_config: {
    use_multipart_endpoint: true,
    // As the local server says it.
    size_limit: 1_000,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: { gzip_body_enabled: false, zstd_compression_enabled: false },
};

const delayMs = Number(process.argv[2] ?? 0);

const halves = { inputs: new Set<string>(), outputs: new Set<string>() };
const whole = new Set<string>();
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
  const body = await bodyOf(request);
  const path = (request.url ?? "").split("?")[0] ?? "";
  const said = sayings[path]?.(body, `http://${request.headers.host ?? ""}`);
  if (said !== undefined) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(said));
    return;
  }
  const acknowledged = take(path, request.headers["content-type"] ?? "", body);
  if (delayMs > 0) {
    await sleep(delayMs);
  }
  response.writeHead(path.startsWith("/runs") ? 202 : 200, {
    "content-type": "application/json",
    [acknowledgedHeader]: acknowledged,
  });
  response.end("{}");
}

/** What clients ask before they send, and what the bench asks at the end. */
const sayings: Readonly<Record<string, (body: Buffer, origin: string) => unknown>> = {
  "/info": () => info,
  "/check": (body) => report(body.length === 0 ? [] : body.toString("latin1").split("\n")),
  "/version": () => ({ logs3_payload_max_bytes: null }),
  "/api/apikey/login": (_body, origin) => ({
    org_info: [{ id: "bench", name: "bench", api_url: origin, proxy_url: origin }],
  }),
};

/** Counts a request; how many runs it made whole. */
function take(path: string, contentType: string, body: Buffer): number {
  requests += 1;
  bytes += body.length;
  const before = whole.size;
  for (const { id, part } of arrivalsIn(path, contentType, body)) {
    if (part === "whole") {
      whole.add(id);
      continue;
    }
    halves[part].add(id);
    if (halves.inputs.has(id) && halves.outputs.has(id)) {
      whole.add(id);
      halves.inputs.delete(id);
      halves.outputs.delete(id);
    }
  }
  return whole.size - before;
}

const report = (ids: readonly string[]): SinkReport => ({
  requests,
  bytes,
  runs: whole.size,
  missing: ids.reduce((count, id) => count + (whole.has(id) ? 0 : 1), 0),
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
