import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

const key = "mr_secret-of-the-bench";

async function localServer(): Promise<string> {
  const data = join(await folder(), "data");
  const server = start(["serve", "--port", "0", "--data", data, "--api-key", key]);
  return addressOf(await firstLine(server));
}

interface StubServer {
  readonly endpoint: string;
  /** Resolves with the first request that contains runs. */
  readonly reached: Promise<unknown>;
}

/**
 * Starts a server that responds to every request except those that contain runs, which it refuses or never
 * responds to.
 */
async function serverThat(runs: "refuses" | "is silent"): Promise<StubServer> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      response.end("[]");
      return;
    }
    server.emit("runs");
    if (runs === "refuses") {
      response.writeHead(400).end("{}");
    }
  });
  const reached = once(server, "runs");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reached };
}

/** These tests start a server in addition to the command. */
const slow = { timeout: 60_000 };

const bench = (endpoint: string, ...args: readonly string[]) =>
  start(["bench", "--endpoint", endpoint, ...args]);

test(
  "every run counted as acknowledged is on the server, and the report states the cost",
  slow,
  async () => {
    const endpoint = await localServer();
    const report = join(await folder(), "report.json");
    const args = ["--key", key, "--runs", "123", "--size", "S", "--project", "sizing"];
    const { code, output, errors } = await ended(bench(endpoint, ...args, "--json", report));
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output).toMatch(/^123 runs of size S \(1\.3 kB of JSON each\), as fast as/);
    expect(output).toMatch(/^acknowledged {2}123$/m);
    expect(output).toMatch(/^main CPU {6}[\d.]+ µs per run$/m);

    const text = await readFile(report, "utf8");
    expect(output + text).not.toContain(key);
    expect(JSON.parse(text)).toMatchObject({
      size: "S",
      rate: null,
      recorded: 123,
      acknowledged: 123,
      pending: 0,
      dropped: 0,
      lostRecords: {},
      eventLoop: { delayMsMax: expect.any(Number) as unknown },
    });
    await using held = {
      client: new Client({ endpoint, apiKey: key }),
      [Symbol.asyncDispose]: async (): Promise<void> => {
        await held.client.close();
      },
    };
    const runs = await held.client.runs.list({ projectNames: ["sizing"], limit: 1_000 }).toArray();
    expect(runs).toHaveLength(123);
  },
);

test("a rate and a duration limit how many runs are recorded", slow, async () => {
  const endpoint = await localServer();
  const report = join(await folder(), "report.json");
  const args = ["--key", key, "--rate", "100", "--duration", "1", "--json", report];
  const { code } = await ended(bench(endpoint, ...args, "--workers", "1"));
  expect(code).toBe(0);
  const { recorded } = JSON.parse(await readFile(report, "utf8")) as { recorded: number };
  // A trace of ten runs may begin just before the second is over.
  expect(recorded).toBeGreaterThanOrEqual(10);
  expect(recorded).toBeLessThanOrEqual(110);
});

test("refused runs are counted as lost, by reason, and change the exit code", async () => {
  const { endpoint } = await serverThat("refuses");
  const { code, output } = await ended(bench(endpoint, "--runs", "20", "--size", "S"));
  expect(code).toBe(3);
  expect(output).toMatch(/^dropped {7}20 \(records: rejected 40\)$/m);
});

test("Ctrl-C stops recording, drops the unacknowledged runs, and still prints the report", async () => {
  const report = join(await folder(), "report.json");
  const { endpoint, reached } = await serverThat("is silent");
  const child = bench(
    endpoint,
    "--rate",
    "200",
    "--duration",
    "60",
    "--size",
    "S",
    "--json",
    report,
  );
  const end = ended(child);
  await reached;
  child.kill("SIGINT");
  const { code, output } = await end;
  expect(code).toBe(3);
  expect(output).toMatch(/^pending {7}0$/m);
  const summary = JSON.parse(await readFile(report, "utf8")) as Record<string, number>;
  expect(summary).toMatchObject({ interrupted: true, acknowledged: 0, pending: 0 });
  expect(summary["dropped"]).toBe(summary["recorded"]);
});

test.each([
  ["--size", "XXL", '--size must be one of S, M, L, XL, not "XXL"'],
  ["--runs", "0", '--runs must be a whole number from 1 to 1000000000, not "0"'],
  ["--rate", "1e3", '--rate must be a whole number from 1 to 1000000, not "1e3"'],
  ["--duration", "-1", '--duration must be a whole number from 1 to 86400, not "-1"'],
  ["--workers", "65", '--workers must be a whole number from 0 to 64, not "65"'],
  ["--json", "/nowhere/report.json", "--json: ENOENT"],
  ["--endpoint", "ftp://host", "Option endpoint must be a URL"],
])(
  "%s %s is refused by the flag's name, before anything is recorded",
  async (flag, value, message) => {
    const { code, output, errors } = await ended(start(["bench", flag, value]));
    expect({ code, output }).toEqual({ code: 2, output: "" });
    expect(errors).toContain(message);
  },
);

test("a refused key ends the command at once, and is not printed", slow, async () => {
  const endpoint = await localServer();
  const wrong = "mr_wrong-key-of-the-bench";
  const { code, output, errors } = await ended(bench(endpoint, "--key", wrong));
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toContain("401");
  expect(errors).not.toContain(wrong);
});
