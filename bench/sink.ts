// A server that counts requests, bytes and completely received runs of any client. A bench starts it as a separate
// process, and it sends its address to the parent process. Its first argument is the delay before it responds to a
// request with runs, in milliseconds.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { findReceivedParts } from "./arrivals.ts";
import { acknowledgedHeader } from "./drivers/acknowledged.ts";

/** The response to `POST /check`: what was received. The body of that request lists the expected ids. */
export interface SinkReport {
  readonly requests: number;
  readonly bytes: number;
  /** Number of different runs. */
  readonly runs: number;
  /** Number of listed runs that were not received whole. */
  readonly missing: number;
}

const info = {
  version: "0.5.23",
  batch_ingest_config: {
    use_multipart_endpoint: true,
    // The same limits as those of the local server.
    size_limit: 1_000,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: { gzip_body_enabled: false, zstd_compression_enabled: false },
};

const delayMs = Number(process.argv[2] ?? 0);

const partialRuns = { inputs: new Set<string>(), outputs: new Set<string>() };
const wholeRuns = new Set<string>();
let requests = 0;
let bytes = 0;

const server = createServer((request, response) => {
  void respond(request, response);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}`);
});
process.once("disconnect", () => process.exit());

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const path = (request.url ?? "").split("?")[0] ?? "";
  const fixedResponse = fixedResponses[path]?.(body, `http://${request.headers.host ?? ""}`);
  if (fixedResponse !== undefined) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(fixedResponse));
    return;
  }
  const acknowledged = countRuns(path, request.headers["content-type"] ?? "", body);
  if (delayMs > 0) {
    await sleep(delayMs);
  }
  response.writeHead(path.startsWith("/runs") ? 202 : 200, {
    "content-type": "application/json",
    [acknowledgedHeader]: acknowledged,
  });
  response.end("{}");
}

/** Responses to requests without runs: those of clients before they send, and of the bench at the end. */
const fixedResponses: Readonly<Record<string, (body: Buffer, origin: string) => unknown>> = {
  "/info": () => info,
  "/check": (body) => report(body.length === 0 ? [] : body.toString("latin1").split("\n")),
  "/version": () => ({ logs3_payload_max_bytes: null }),
  "/api/apikey/login": (_body, origin) => ({
    org_info: [{ id: "bench", name: "bench", api_url: origin, proxy_url: origin }],
  }),
};

/** Counts a request. Returns how many runs became whole with it. */
function countRuns(path: string, contentType: string, body: Buffer): number {
  requests += 1;
  bytes += body.length;
  const previousCount = wholeRuns.size;
  for (const { id, part } of findReceivedParts(path, contentType, body)) {
    if (part === "whole") {
      wholeRuns.add(id);
      continue;
    }
    partialRuns[part].add(id);
    if (partialRuns.inputs.has(id) && partialRuns.outputs.has(id)) {
      wholeRuns.add(id);
      partialRuns.inputs.delete(id);
      partialRuns.outputs.delete(id);
    }
  }
  return wholeRuns.size - previousCount;
}

const report = (ids: readonly string[]): SinkReport => ({
  requests,
  bytes,
  runs: wholeRuns.size,
  missing: ids.reduce((count, id) => count + (wholeRuns.has(id) ? 0 : 1), 0),
});

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
