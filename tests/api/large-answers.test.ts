import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Runs } from "../../src/api/runs/runs.ts";
import { Projects } from "../../src/api/projects.ts";
import { ResponseError, HttpError } from "../../src/model/errors.ts";
import { LoopBlockMonitor } from "../chaos/soak/loop-block-monitor.ts";
import { createTestHttp } from "../support/api.ts";
import type { TestHttpOptions } from "../support/api.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const id = "0199a6b2-0c3d-7000-8000-000000000001";
const responseBytes = 20_000_000;

/** A run of 20 MB whose inputs repeat `item`. */
const runOf = (item: string): string => {
  const count = Math.floor(responseBytes / (item.length + 1));
  return `{"id":"${id}","name":"x","run_type":"llm","inputs":{"items":[${`${item},`.repeat(count)}0]}}`;
};

/**
 * Milliseconds in which this machine allocates a list as long as `items`. That can't be done in
 * steps, and takes 20 to 200 ms for 7 million items, depending on how the machine handles page faults.
 */
function listAllocationMs(items: unknown): number {
  const { length } = items as readonly unknown[];
  const startMs = performance.now();
  const list: unknown[] = [];
  list.length = length;
  return performance.now() - startMs;
}

async function runsTo(response: ScriptedResponse, options: TestHttpOptions = {}): Promise<Runs> {
  const server = await loopbackServer({ runs: [response] });
  onTestFinished(() => server.close());
  const { http } = createTestHttp(server.endpoint, {
    connection: { timeoutMs: 30_000 },
    ...options,
  });
  const { endpoint } = server;
  const projects = new Projects(http.call, endpoint);
  return new Runs(http, { host: endpoint, endpoint, projects, uploader: noUploads });
}

describe.sequential("a response of 20 MB", () => {
  test.each([
    ["empty lists", "[]"],
    ["empty objects", "{}"],
    ["messages", JSON.stringify({ role: "user", content: "What is the weather? ".repeat(12) })],
    ["one long text", JSON.stringify("\n é".repeat(3_000_000))],
  ])("of %s blocks the event loop for less than 250 ms", async (_what, item) => {
    const runs = await runsTo({ body: runOf(item) });
    const watch = new LoopBlockMonitor();
    watch.start();
    const run = await runs.read(id);
    // The watch measures an interval when its next timer fires.
    await delay(20);
    watch.stop();
    const items = run.inputs?.["items"];
    expect(Array.isArray(items)).toBe(true);
    expect(watch.longest.cpuMs).toBeLessThan(Math.max(250, 2 * listAllocationMs(items)));
  });
});

test("a response above maxResponseBytes is an error that names the option and says what to do", async () => {
  const body = runOf("1").slice(0, 100_000);
  const runs = await runsTo({ body }, { maxResponseBytes: 65_536 });
  const refused = runs.read(id);
  await expect(refused).rejects.toThrow(ResponseError);
  await expect(refused).rejects.toThrow(
    "Failed to read run: the response is larger than the option maxResponseBytes (65536 bytes). Request less data (`limit`, `select`), or raise the option (MILLRACE_MAX_RESPONSE_BYTES)",
  );
});

test("a response that is nested too deeply is an error that says what to do", async () => {
  const body = `{"id":"${id}","a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  const refused = (await runsTo({ body })).read(id);
  await expect(refused).rejects.toThrow(ResponseError);
  await expect(refused).rejects.toThrow(
    "Failed to read run: the response contains lists and objects nested more than 10000 deep; request less data",
  );
});

test("at most 64 KiB of an error response are read", async () => {
  let written = 0;
  const runs = await runsTo((response) => {
    response.writeHead(400, { "content-type": "application/json" });
    const more = (): void => {
      while (!response.destroyed && written < responseBytes) {
        written += 65_536;
        if (!response.write("x".repeat(65_536))) {
          response.once("drain", more);
          return;
        }
      }
    };
    more();
  });
  const refused = await runs.read(id).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(HttpError);
  expect((refused as HttpError).detail).toBe("x".repeat(200));
  // Socket buffers hold a few megabytes of what the server has written.
  expect(written).toBeLessThan(responseBytes);
});

test("a call can be aborted while its response is parsed", async () => {
  const controller = new AbortController();
  const runs = await runsTo({ body: runOf("[]") });
  const read = runs.read(id, { signal: controller.signal });
  setTimeout(() => controller.abort(), 60);
  await expect(read).rejects.toMatchObject({ code: "ABORTED" });
});
