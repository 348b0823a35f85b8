import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { ClientStats, OverflowPolicy } from "millrace";
import { expect, onTestFinished, test } from "vitest";

const program = join(import.meta.dirname, "..", "support", "flat-program.mjs");
/** The program has a queue of 4 MiB and two requests in flight. */
const queueMb = 4;
const boundMb = 16;

/** What the program prints when it ends. */
interface ProgramStats extends Pick<ClientStats, "accepted" | "delivered" | "dropped" | "lost"> {
  readonly sum: number;
  /** The peak memory in buffers, for each quarter of the time. */
  readonly peaksMb: readonly number[];
}

/** Starts a server that accepts everything, slowly. */
async function slowServer(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => setTimeout(() => response.writeHead(202).end("{}"), 20));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function produce(overflow: OverflowPolicy): Promise<ProgramStats> {
  const spoolDir = mkdtempSync(join(tmpdir(), "millrace-flat-"));
  onTestFinished(() => rmSync(spoolDir, { recursive: true }));
  const options = { overflow, spoolDir, spoolQuotaBytes: 10_000_000 };
  const child = spawn(process.execPath, [program, await slowServer(), JSON.stringify(options)]);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, "close");
  return JSON.parse(output) as ProgramStats;
}

const policies: readonly (readonly [OverflowPolicy, readonly string[]])[] = [
  ["drop-newest", ["queueFull"]],
  ["drop-oldest", ["queueFull"]],
  ["block", []],
  ["spool", ["spoolFull"]],
];

test.each(policies)(
  "%s: a producer far faster than the server stays within the queue's limit, and each record is counted",
  { timeout: 60_000 },
  async (overflow, reasons) => {
    const { peaksMb, accepted, sum, lost } = await produce(overflow);
    expect(accepted).toBe(40_000);
    expect(sum).toBe(accepted);
    const lossReasons = Object.entries(lost).filter(([, records]) => records > 0);
    expect(lossReasons.map(([reason]) => reason)).toEqual(reasons);
    for (const peak of peaksMb) {
      expect(peak).toBeGreaterThan(queueMb / 2);
      expect(peak).toBeLessThan(boundMb);
    }
  },
);

test("with the defaults, a burst of 80 MB that is recorded before anything is sent fits into the queue and arrives", async () => {
  const client = new Client({ endpoint: await slowServer(), apiKey: "none" });
  const outputs = { text: "x".repeat(5_500) };
  for (let n = 0; n < 15_000; n++) {
    client.startRun({ name: "burst" }).end(outputs);
  }
  await client.close();
  const { accepted, delivered, dropped, bytes } = client.stats();
  expect(bytes.recorded).toBeGreaterThan(80_000_000);
  expect({ accepted, delivered, dropped }).toEqual({
    accepted: 30_000,
    delivered: 30_000,
    dropped: 0,
  });
});
