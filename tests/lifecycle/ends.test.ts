import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";

const program = join(import.meta.dirname, "programs", "record.mjs");

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

interface Setting {
  readonly runs?: number;
  readonly bytes?: number;
  readonly options?: Record<string, unknown>;
}

/** Runs the program until it ends. Sends `signal` once it has printed that it is ready. */
function run(
  args: { readonly howItEnds: string; readonly endpoint: string; readonly signal?: NodeJS.Signals },
  setting: Setting = {},
): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [
    program,
    args.howItEnds,
    args.endpoint,
    JSON.stringify(setting),
  ]);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    if (args.signal !== undefined && stdout.includes("ready")) {
      child.kill(args.signal);
    }
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr, tookMs: performance.now() - startedAt });
    });
  });
}

/** Never responds. */
const hanging = (): undefined => undefined;
/** An address of this machine without a server. */
const unreachable = "http://127.0.0.1:9";

// Worker threads may start slowly on a busy machine. Another test covers how long a forced end waits.
const longExitTimeout = { exitTimeoutMs: 20_000 };

describe("however the process ends, recorded data arrives and the exit code is unchanged", () => {
  const ends: readonly (readonly [string, number | null, NodeJS.Signals | null])[] = [
    ["natural", 0, null],
    ["exit", 3, null],
    ["throw", 1, null],
    ["reject", 1, null],
    ["flush", 0, null],
    ["close", 0, null],
  ];

  test.each(ends)("%s", async (howItEnds, code, signal) => {
    await using server = await runCounter();
    const result = await run({ howItEnds, endpoint: server.url }, { options: longExitTimeout });
    expect(result).toMatchObject({ code, signal });
    expect(server.started.size).toBe(3);
    expect(server.ended).toEqual(server.started);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s without a handler", async (signal) => {
    await using server = await runCounter();
    const result = await run(
      { howItEnds: "signal", endpoint: server.url, signal },
      { options: longExitTimeout },
    );
    expect(result).toMatchObject({ code: null, signal });
    expect(server.ended.size).toBe(3);
  });

  test("SIGTERM with a handler of the program's own", async () => {
    await using server = await runCounter();
    const result = await run(
      { howItEnds: "exit in a handler", endpoint: server.url, signal: "SIGTERM" },
      { options: longExitTimeout },
    );
    expect(result).toMatchObject({ code: 7, signal: null });
    expect(server.ended.size).toBe(3);
  });

  test("SIGTERM with another exit hook that lets the signal end the process, like ours", async () => {
    await using server = await runCounter();
    const result = await run(
      { howItEnds: "exit hook", endpoint: server.url, signal: "SIGTERM" },
      { options: longExitTimeout },
    );
    expect(result).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(server.ended.size).toBe(3);
  });

  test("SIGTERM with a handler made by once, before the client", async () => {
    await using server = await runCounter();
    const result = await run(
      { howItEnds: "once", endpoint: server.url, signal: "SIGTERM" },
      { options: longExitTimeout },
    );
    expect(result).toMatchObject({ code: 9, signal: null });
    expect(server.ended.size).toBe(3);
  });

  test("a natural end with texts of a megabyte each, 40 of them", async () => {
    await using server = await runCounter();
    const result = await run(
      { howItEnds: "natural", endpoint: server.url },
      { runs: 20, bytes: 1_000_000 },
    );
    expect(result.code).toBe(0);
    expect(server.ended.size).toBe(20);
  });
});

describe("the end of a process does not wait longer than its limit", () => {
  test("a natural end with a server that hangs waits drainTimeoutMs, and the loss is logged", async () => {
    await using server = await runCounter(hanging);
    const result = await run(
      { howItEnds: "natural", endpoint: server.url },
      { options: { drainTimeoutMs: 1_500, exitTimeoutMs: 0 } },
    );
    expect(result.code).toBe(0);
    expect(result.tookMs).toBeGreaterThan(1_500);
    expect(result.tookMs).toBeLessThan(8_000);
    expect(result.stderr).toContain("Lost 6 records (closed)");
  });

  test("without workers, an /info that hangs does not keep a process alive whose runs arrived", async () => {
    await using server = await runCounter((request, response) => {
      request.resume();
      if (request.url !== "/info") {
        response.writeHead(202).end("{}");
      }
    });
    const result = await run(
      { howItEnds: "natural", endpoint: server.url },
      { options: { workers: 0, timeoutMs: 60_000 } },
    );
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.tookMs).toBeLessThan(20_000);
  });

  test("a natural end waits for spooled tapes at most as long as a forced end", async () => {
    const spoolDir = mkdtempSync(join(tmpdir(), "millrace-spool-"));
    try {
      await run(
        { howItEnds: "natural", endpoint: unreachable },
        { options: { spoolDir, drainTimeoutMs: 500, exitTimeoutMs: 0 } },
      );
      await using server = await runCounter(hanging);
      const result = await run(
        { howItEnds: "spool alone", endpoint: server.url },
        { options: { spoolDir, drainTimeoutMs: 60_000, timeoutMs: 60_000 } },
      );
      expect(result).toMatchObject({ code: 0, stderr: "" });
      expect(result.tookMs).toBeLessThan(20_000);
      expect(readdirSync(spoolDir)).toHaveLength(1);
    } finally {
      rmSync(spoolDir, { recursive: true });
    }
  });

  test("a forced end with a server that hangs waits exitTimeoutMs", async () => {
    await using server = await runCounter(hanging);
    const result = await run(
      { howItEnds: "exit", endpoint: server.url },
      { options: { exitTimeoutMs: 500 } },
    );
    expect(result.code).toBe(3);
    expect(result.tookMs).toBeLessThan(7_000);
    expect(result.stderr).toContain("Lost 6 records (closed)");
  });

  test.each(["nothing", "delivered"])(
    "an idle client does not keep the process alive: %s",
    async (howItEnds) => {
      await using server = await runCounter();
      const result = await run(
        { howItEnds, endpoint: server.url },
        { options: { drainTimeoutMs: 600_000 } },
      );
      expect(result.code).toBe(0);
      expect(result.stderr).toBe("");
    },
  );
});

test("an end without close logs losses that were not logged before, although everything else arrived", async () => {
  await using server = await runCounter();
  const { stderr } = await run(
    { howItEnds: "natural", endpoint: server.url },
    { options: { maxQueueRecords: 2 } },
  );
  const losses = [...stderr.matchAll(/Lost (\d+) records? \(queueFull\)/g)];
  expect(losses.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(4);
});

describe("with a spool", () => {
  test("records that could not be sent are sent once by the next process, and the file is removed", async () => {
    const spoolDir = mkdtempSync(join(tmpdir(), "millrace-spool-"));
    try {
      const offlineRun = await run(
        { howItEnds: "natural", endpoint: unreachable },
        { options: { spoolDir, drainTimeoutMs: 500, exitTimeoutMs: 0 } },
      );
      expect(offlineRun).toMatchObject({
        code: 0,
        stderr: expect.not.stringContaining("Lost") as unknown,
      });
      expect(readdirSync(spoolDir)).toHaveLength(1);

      await using server = await runCounter();
      const nextRun = await run(
        { howItEnds: "natural", endpoint: server.url },
        { options: { spoolDir } },
      );
      expect(nextRun.code).toBe(0);
      expect(server.ended.size).toBe(6);
      expect(readdirSync(spoolDir)).toEqual([]);
    } finally {
      rmSync(spoolDir, { recursive: true });
    }
  });
});

test("close sends queued records, then refuses new ones and counts them", async () => {
  await using server = await runCounter();
  const { stdout } = await run({ howItEnds: "close", endpoint: server.url });
  expect(JSON.parse(stdout)).toMatchObject({
    accepted: 12,
    delivered: 6,
    dropped: 6,
    pending: 0,
    lost: { closed: 6 },
  });
});

test("flush as the last statement settles and returns what was delivered", async () => {
  await using server = await runCounter();
  const { code, stdout } = await run({ howItEnds: "flush", endpoint: server.url });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ delivered: 6, lost: 0, pending: 0 });
});
