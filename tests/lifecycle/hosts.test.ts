import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";
import { runsIn } from "../support/runs-in-body.ts";

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  /** Resolves when the program has printed the text; rejects if it ends before that. */
  readonly waitForOutput: (text: string) => Promise<void>;
  readonly ended: Promise<readonly unknown[]>;
}

function start(program: string, args: readonly string[]): Started {
  const path = join(import.meta.dirname, "programs", program);
  const child = spawn(process.execPath, [path, ...args]);
  let text = "";
  const keep = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = once(child, "close");
  const waitForOutput = async (wanted: string): Promise<void> => {
    await expect.poll(() => text, { timeout: 20_000 }).toContain(wanted);
  };
  return { child, output: () => text, waitForOutput, ended };
}

test.each([
  ["natural", 0],
  ["exit", 4],
  ["throw", 5],
] as const)("records of a worker thread of the program arrive: %s", async (howItEnds, code) => {
  await using server = await runCounter();
  const { ended, output } = start("in-thread.mjs", [howItEnds, server.url]);
  expect(await ended).toEqual([0, null]);
  expect(output()).toBe(`thread ended with ${code}\n`);
  expect(server.ended.size).toBe(3);
});

test("records of cluster workers and their parent arrive, and all of them end", async () => {
  await using server = await runCounter();
  const { ended, output } = start("in-cluster.mjs", [server.url]);
  expect(await ended).toEqual([0, null]);
  expect(output()).toBe("");
  expect(server.ended.size).toBe(9);
});

test("a process that is suspended while its connections are closed loses nothing, counts once, and keeps its worker", async () => {
  let isCut = true;
  const seen: string[] = [];
  await using server = await runCounter((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (isCut) {
        // Accepted but never answered: the connection is destroyed while the process is suspended.
        setTimeout(() => response.socket?.destroy(), 1_000);
        return;
      }
      seen.push(...runsIn(Buffer.concat(chunks)).started);
      response.writeHead(request.url === "/info" ? 404 : 202).end("{}");
    });
  });
  const { child, waitForOutput, ended, output } = start("frozen.mjs", [server.url]);
  await waitForOutput("ready");
  child.kill("SIGSTOP");
  await new Promise((resolve) => {
    setTimeout(resolve, 4_000);
  });
  isCut = false;
  child.kill("SIGCONT");
  child.stdin.write("go on\n");
  expect(await ended).toEqual([0, null]);
  const stats: unknown = JSON.parse(output().slice(output().indexOf("{")));
  expect(stats).toEqual({ accepted: 300, delivered: 300, pending: 0, warnings: {} });
  expect(new Set(seen).size).toBe(150);
}, 40_000);
