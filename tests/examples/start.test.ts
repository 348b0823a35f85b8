import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../scripts/start.mjs", import.meta.url));
const longMs = 120_000;

let dataDir = "";
let child: ChildProcessWithoutNullStreams | undefined;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "millrace-start-"));
});
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
});

const start = (...flags: string[]): ChildProcessWithoutNullStreams => {
  // Removes the machine's key: no test may call an API that costs money.
  const { OPENAI_API_KEY: _, ...env } = process.env;
  child = spawn(process.execPath, [script, "--data", dataDir, ...flags], { env });
  return child;
};

const exitCodeOf = (running: ChildProcessWithoutNullStreams): Promise<number | null> =>
  new Promise((resolve) => {
    running.once("exit", resolve);
  });

/** Reads a process's output up to `line`, and leaves the stream open so that the process can continue to print. */
const readUntil = (running: ChildProcessWithoutNullStreams, line: string): Promise<string> =>
  new Promise((resolve) => {
    let printed = "";
    running.stdout.on("data", (chunk: Buffer) => {
      printed += String(chunk);
      if (printed.includes(line)) {
        resolve(printed);
      }
    });
    running.once("exit", () => resolve(printed));
  });

test(
  "npm start -- --once records the workload, reads it back equal and ends with 0",
  { timeout: longMs },
  async () => {
    const running = start("--once", "--runs", "600", "--port", "0");
    const [output, errors, code] = await Promise.all([
      text(running.stdout),
      text(running.stderr),
      exitCodeOf(running),
    ]);
    // It builds outdated packages first, and prints that it does.
    expect(errors.replace(/^Built .* s\n/gm, "")).toBe("");
    expect(output).toContain("Nothing is missing");
    expect(output).toMatch(/accepted +1,[0-9]{3} records/);
    expect(output).toMatch(/lost +0 records: queueFull 0/);
    expect(output).toMatch(
      /read back +[6-9][0-9]{2} runs equal, 0 different, 0 missing, 0 unknown/,
    );
    expect(output).toMatch(/event-loop delay p99\* +[0-9.]+ ms +[0-9.]+ ms/);
    expect(output).toMatch(/CPU per run, for recording +too few requests/);
    expect(output).toMatch(
      /One trace: http:\/\/127\.0\.0\.1:[0-9]+\/o\/[0-9a-f-]{36}\/projects\/p\/[0-9a-f-]{36}\?trace=[0-9a-f-]{36}/,
    );
    expect(code).toBe(0);
  },
);

test(
  "without --once it takes a free port where its own is in use, serves the trace, and Ctrl-C ends it with 0",
  { timeout: longMs },
  async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const running = start("--runs", "60", "--port", String(port));
    const output = await readUntil(running, "How do I set a timeout?");
    other.close();
    expect(output).toContain(`Port ${port} is in use`);
    const trace = /One trace: (\S+)/.exec(output)?.[1] ?? "";
    const page = await fetch(trace, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain("<title>Millrace</title>");
    const address = /curl -s (\S+)/.exec(output)?.[1] ?? "";
    const run: unknown = await (await fetch(address)).json();
    expect(run).toMatchObject({ name: "ask", run_type: "chain", parent_run_id: null });
    const query = /-d '(\{"trace":.*\})'/.exec(output)?.[1] ?? "";
    const found: unknown = await (
      await fetch(new URL("/runs/query", trace), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: query,
      })
    ).json();
    expect(found).toHaveProperty("runs.5.name");
    const route = /curl -sN (\S+)/.exec(output)?.[1] ?? "";
    const body = JSON.stringify({ question: "How is the time of a request limited?" });
    const answer = await (await fetch(route, { method: "POST", body })).text();
    expect(answer.trimEnd().split("\n").at(-1)).toContain('{"answer":');
    running.kill("SIGINT");
    const code = await exitCodeOf(running);
    expect(code).toBe(0);
  },
);

test("an unknown flag, or a value out of range, ends with exit code 2 and lists what is allowed", async () => {
  for (const flags of [
    ["--runz", "1"],
    ["--runs", "many"],
    ["--port", "70000"],
  ]) {
    const running = start(...flags);
    const [errors, code] = await Promise.all([text(running.stderr), exitCodeOf(running)]);
    expect(errors).toContain("Usage: npm start");
    expect(code).toBe(2);
  }
});
