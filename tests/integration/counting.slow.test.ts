import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "millrace";
import { afterEach, describe, expect, test } from "vitest";
import { runsIn } from "../support/runs-in-body.ts";

/** A server that fails about every second request, in a different way each time, according to a fixed plan. */
interface FaultyServer {
  readonly url: string;
  /** Ids of the runs in requests that got status 202. */
  readonly acceptedIds: Set<string>;
  /** The fault that was applied to each ingest request. */
  readonly appliedFaults: Fault[];
  readonly close: () => Promise<void>;
}

type Fault = "take" | "503" | "429" | "500" | "reset" | "take, then reset" | "garbage";

const faults: readonly Fault[] = [
  "503",
  "take",
  "reset",
  "500",
  "429",
  "take, then reset",
  "take",
  "garbage",
  "500",
  "take",
];

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) {
    await close();
  }
});

async function faultyServer(): Promise<FaultyServer> {
  const acceptedIds = new Set<string>();
  const appliedFaults: Fault[] = [];
  const answer = (fault: Fault, response: ServerResponse): void => {
    switch (fault) {
      case "reset":
      case "take, then reset":
        response.socket?.destroy();
        break;
      case "take":
        response.writeHead(202).end("{}");
        break;
      case "garbage":
        response.writeHead(202, { "content-type": "text/html" }).end("<html>");
        break;
      case "429":
        response.writeHead(429, { "retry-after": "0" }).end("{}");
        break;
      default:
        response.writeHead(Number(fault)).end("{}");
    }
  };
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.url === "/info") {
        response.writeHead(500).end();
        return;
      }
      const fault = faults[appliedFaults.length] ?? "take";
      appliedFaults.push(fault);
      if (fault.startsWith("take") || fault === "garbage") {
        const { started, ended } = runsIn(Buffer.concat(chunks));
        [...started, ...ended].forEach((id) => acceptedIds.add(id));
      }
      answer(fault, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  closing.push(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, acceptedIds, appliedFaults, close };
}

describe("P2: every accepted record ends in one counted state, whatever the server does", () => {
  test.each([0, 1, 2])("with %d workers", { timeout: 60_000 }, async (workers) => {
    const server = await faultyServer();
    const client = new Client({
      endpoint: server.url,
      workers,
      attempts: 2,
      batchLimit: 10,
      requestsInFlight: 2,
      tapeBytes: 8_192,
      logger: { warn: () => undefined },
    });
    closing.push(() => client.close({ timeoutMs: 0 }));
    const ids: string[] = [];
    for (let i = 0; i < 200; i++) {
      const run = client.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(300) } });
      run.end({ i });
      ids.push(run.id);
      const { accepted, delivered, rejected, dropped, spooled, pending } = client.stats();
      expect(delivered + rejected + dropped + spooled + pending).toBe(accepted);
    }
    const flushed = await client.flush({ timeoutMs: 50_000 });
    const stats = client.stats();
    expect(stats).toMatchObject({ accepted: 400, rejected: 0, pending: 0, spooled: 0 });
    expect(stats.delivered + stats.dropped).toBe(400);
    expect(stats.dropped).toBe(stats.lost.expired);
    expect(flushed).toMatchObject({ delivered: stats.delivered, lost: stats.dropped, pending: 0 });
    // Every record that is counted as delivered arrived, and every other one is counted as lost.
    const missing = ids.filter((id) => !server.acceptedIds.has(id));
    expect(missing.length * 2).toBeLessThanOrEqual(stats.dropped);
    expect(stats.delivered / 2).toBeLessThanOrEqual(server.acceptedIds.size);
    expect(new Set(server.appliedFaults)).toEqual(new Set(faults));
    expect(stats.retries).toBeGreaterThan(0);
  });
});

test("delivery starts without a restart when a server that was down comes up, and nothing is lost", async () => {
  const first = await faultyServer();
  const { port } = new URL(first.url);
  await first.close();
  const client = new Client({
    endpoint: first.url,
    attempts: 1,
    logger: { warn: () => undefined },
  });
  closing.push(() => client.close({ timeoutMs: 0 }));
  const run = client.startRun({ name: "early" });
  run.end();
  await client.flush({ timeoutMs: 300 });
  expect(client.stats()).toMatchObject({ delivered: 0, dropped: 0, pending: 2 });

  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(202).end("{}"));
  });
  closing.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  await new Promise<void>((resolve) => {
    server.listen(Number(port), "127.0.0.1", resolve);
  });
  await expect(client.flush({ timeoutMs: 10_000 })).resolves.toMatchObject({ pending: 0, lost: 0 });
  expect(client.stats()).toMatchObject({ delivered: 2, dropped: 0 });
});
