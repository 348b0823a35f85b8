import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";
import { runsIn } from "../support/runs-in-body.ts";

const program = join(import.meta.dirname, "programs", "away.mjs");
const unreachable = "http://127.0.0.1:9";

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  /** Time from the program's last statement to the end of the process. */
  readonly endMs: number;
}

interface Setting {
  readonly howItEnds: "natural" | "exit" | "at once";
  readonly endpoint?: string;
  readonly options?: Record<string, unknown>;
  readonly env?: Record<string, string>;
}

function run({
  howItEnds,
  endpoint = unreachable,
  options = {},
  env = {},
}: Setting): Promise<Ended> {
  const args = [program, howItEnds, endpoint, JSON.stringify(options)];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  let stderr = "";
  let programEndedAt = 0;
  child.stdout.on("data", () => {
    programEndedAt = performance.now();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve) => {
    child.on("close", (code) => {
      resolve({ code, stderr, endMs: performance.now() - programEndedAt });
    });
  });
}

const lost = /Lost 2 records \(closed\).*Last failure.*ECONNREFUSED 127\.0\.0\.1:9/;

describe("a server that was never reached", () => {
  test("delays a natural end by less than 2 s, and the loss is logged with its cause", async () => {
    const { code, stderr, endMs } = await run({ howItEnds: "natural" });
    expect(code).toBe(0);
    expect(endMs).toBeLessThan(2_000);
    expect(stderr).toMatch(lost);
    expect(stderr).toContain('Start a server with "npx millrace serve --port 9"');
  });

  test("delays a program that ends at once only until a worker has started and tried to connect", async () => {
    const { code, stderr, endMs } = await run({ howItEnds: "at once" });
    expect(code).toBe(0);
    expect(endMs).toBeLessThan(6_000);
    expect(stderr).toMatch(lost);
  });

  test("is logged with its cause at process.exit(), when no message of a worker can arrive", async () => {
    const { stderr, endMs } = await run({
      howItEnds: "exit",
      options: { exitTimeoutMs: 200 },
    });
    expect(endMs).toBeLessThan(2_000);
    expect(stderr).toMatch(lost);
    expect(stderr).toContain("npx millrace serve");
  });

  test("leaves the recorded data in the spool", async () => {
    const spoolDir = mkdtempSync(join(tmpdir(), "millrace-spool-"));
    onTestFinished(() => rmSync(spoolDir, { recursive: true }));
    const { stderr, endMs } = await run({ howItEnds: "natural", options: { spoolDir } });
    expect(endMs).toBeLessThan(2_000);
    expect(stderr).not.toContain("Lost");
    expect(readdirSync(spoolDir)).toHaveLength(1);
    await using server = await runCounter();
    await run({ howItEnds: "at once", endpoint: server.url, options: { spoolDir } });
    expect(server.ended.size).toBe(2);
    expect(readdirSync(spoolDir)).toEqual([]);
  });

  test.each([
    [{ drainTimeoutMs: 2_500 }, {}],
    [{}, { MILLRACE_DRAIN_TIMEOUT_MS: "2500" }],
  ])("is waited for as long as the program sets: %j %j", async (options, env) => {
    const { endMs } = await run({ howItEnds: "natural", options, env });
    expect(endMs).toBeGreaterThan(2_400);
  });

  test("delays a program without workers just as little", async () => {
    const { stderr, endMs } = await run({ howItEnds: "natural", options: { workers: 0 } });
    expect(endMs).toBeLessThan(2_000);
    expect(stderr).toMatch(lost);
  });
});

test("a server that responds slowly to its first request is waited for", async () => {
  const result = new Set<string>();
  await using server = await runCounter((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      runsIn(Buffer.concat(chunks)).ended.forEach((id) => result.add(id));
      setTimeout(() => response.writeHead(202).end("{}"), 2_500);
    });
  });
  const { stderr, endMs } = await run({ howItEnds: "at once", endpoint: server.url });
  expect(stderr).toBe("");
  expect(endMs).toBeGreaterThan(2_400);
  expect(result.size).toBe(1);
});

test("if no connection is established at all, the log message at the end says so", async () => {
  // Accepts connections, but never starts the TLS handshake.
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const { stderr, endMs } = await run({
    howItEnds: "at once",
    endpoint: `https://127.0.0.1:${port}`,
  });
  expect(endMs).toBeLessThan(6_000);
  expect(stderr).toMatch(
    /Lost 2 records \(closed\).*no connection was made before the process ended/,
  );
});
