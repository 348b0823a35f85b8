import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";
import { runProgram } from "../support/run-program.ts";

const recordThree = `
  const options = JSON.parse(process.env.OPTIONS ?? "{}");
  const client = new Client({ endpoint: process.env.ENDPOINT, exitTimeoutMs: 20_000, ...options });
  for (let i = 0; i < 3; i++) {
    client.startRun({ name: "run " + i }).end({});
  }
`;

describe("with a handler of the program, recorded data arrives and the exit code is the program's", () => {
  test.each([
    [
      "an uncaught exception",
      'process.on("uncaughtException", () => { process.exitCode = 6; });',
      'throw new Error("own");',
      6,
    ],
    [
      "an unhandled rejection",
      'process.on("unhandledRejection", () => process.exit(5));',
      'void Promise.reject(new Error("own"));',
      5,
    ],
    [
      "SIGINT",
      'process.on("SIGINT", () => process.exit(7));',
      'setInterval(() => {}, 1_000); process.kill(process.pid, "SIGINT");',
      7,
    ],
    [
      "SIGTERM",
      'process.on("SIGTERM", () => { process.exitCode = 8; clearInterval(hold); });',
      'const hold = setInterval(() => {}, 1_000); process.kill(process.pid, "SIGTERM");',
      8,
    ],
    ["an exit code that is set", "process.exitCode = 9;", "", 9],
  ])("%s", async (_name, handler, end, code) => {
    await using server = await runCounter();
    const result = await runProgram(`${handler} ${recordThree} ${end}`, {
      env: { ENDPOINT: server.url },
    });
    expect(result).toMatchObject({ code, output: "" });
    expect(server.ended.size).toBe(3);
  });
});

test.each([
  ["natural", "", 0],
  ["process.exit()", "process.exit(3);", 3],
  ["SIGTERM", 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1_000);', null],
])("an end while the worker is starting still delivers: %s", async (_name, end, code) => {
  await using server = await runCounter();
  const source = `${recordThree} void client.flush(); ${end}`;
  const result = await runProgram(source, { env: { ENDPOINT: server.url } });
  expect(result).toMatchObject({ code, output: "" });
  expect(server.ended.size).toBe(3);
});

test("flush as the last statement ends with exit code 0, and returns what was delivered", async () => {
  await using server = await runCounter();
  const source = `${recordThree} console.log(JSON.stringify(await client.flush()));`;
  const result = await runProgram(source, { env: { ENDPOINT: server.url } });
  expect(result.code).toBe(0);
  expect(JSON.parse(result.output)).toEqual({
    delivered: 6,
    pending: 0,
    lost: 0,
    runs: { delivered: 3, pending: 0, lost: 0 },
  });
});

describe("without workers a forced end can't send", () => {
  test("with a spool, everything is kept for the next client", async () => {
    const spoolDir = mkdtempSync(join(tmpdir(), "millrace-exits-"));
    onTestFinished(() => rmSync(spoolDir, { recursive: true }));
    await using server = await runCounter();
    const env = { ENDPOINT: server.url, OPTIONS: JSON.stringify({ workers: 0, spoolDir }) };
    const result = await runProgram(`${recordThree} process.exit(3);`, { env });
    expect(result.code).toBe(3);
    expect(server.ended.size).toBe(0);
    const next = `const client = new Client({ endpoint: process.env.ENDPOINT, spoolDir: process.env.SPOOL });
      while (client.stats().delivered < 6) await new Promise((resolve) => setTimeout(resolve, 20));
      await client.close();`;
    await runProgram(next, { env: { ENDPOINT: server.url, SPOOL: spoolDir } });
    expect(server.ended.size).toBe(3);
    expect(readdirSync(spoolDir)).toEqual([]);
  });

  test("without a spool, each record is counted and logged, and the exit code is the program's", async () => {
    await using server = await runCounter();
    const end = `process.on("exit", () => console.log(JSON.stringify(client.stats().lost.closed)));
      process.exit(3);`;
    const env = { ENDPOINT: server.url, OPTIONS: JSON.stringify({ workers: 0 }) };
    const result = await runProgram(`${recordThree} ${end}`, { env });
    expect(result.code).toBe(3);
    expect(result.output).toContain("Lost 6 records (closed)");
    expect(result.output).toContain("\n6\n");
  });
});

test("a second SIGINT during shutdown does not shorten the delivery, and the signal ends the process", async () => {
  let release = (): void => undefined;
  const isHeld = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isAsked = (): void => undefined;
  const requestReceived = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const seen: string[] = [];
  await using server = await runCounter((request, response) => {
    request.resume();
    request.on("end", () => {
      seen.push(request.url ?? "");
      isAsked();
      void isHeld.then(() => response.writeHead(202).end("{}"));
    });
  });
  const program = join(import.meta.dirname, "programs", "record.mjs");
  const setting = JSON.stringify({ options: { exitTimeoutMs: 60_000 } });
  const child = spawn(process.execPath, [program, "signal", server.url, setting]);
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const result = once(child, "close");
  await once(child.stdout, "data");
  child.kill("SIGINT");
  await requestReceived;
  child.kill("SIGINT");
  release();
  expect(await result).toEqual([null, "SIGINT"]);
  expect(output).toBe("");
  expect(seen.some((url) => url.startsWith("/runs"))).toBe(true);
}, 60_000);

test("a vitest project that records, also with fake timers, ends naturally with exit code 0 and no open handles", async () => {
  await using server = await runCounter();
  const root = join(import.meta.dirname, "vitest-project");
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", "--root", root, "--testTimeout=60000"], {
    env: { PATH: process.env["PATH"], ENDPOINT: server.url },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  expect(await once(child, "close")).toEqual([0, null]);
  expect(output).not.toContain("something prevents");
  expect(output).not.toContain("hanging");
  expect(server.ended.size).toBe(2);
}, 60_000);
