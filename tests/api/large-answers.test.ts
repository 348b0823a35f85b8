import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Runs } from "../../src/api/runs/runs.ts";
import { Projects } from "../../src/api/projects.ts";
import { ResponseError, HttpError } from "../../src/model/errors.ts";
import { LoopBlockMonitor } from "../chaos/soak/loop-block-monitor.ts";
import { httpTo } from "../support/api.ts";
import type { TestHttpOptions } from "../support/api.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedAnswer } from "../support/loopback-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const id = "0199a6b2-0c3d-7000-8000-000000000001";
const answerBytes = 20_000_000;

/** A run of 20 MB whose inputs are `item` again and again. */
const runOf = (item: string): string => {
  const count = Math.floor(answerBytes / (item.length + 1));
  return `{"id":"${id}","name":"x","run_type":"llm","inputs":{"items":[${`${item},`.repeat(count)}0]}}`;
};

async function runsTo(answer: ScriptedAnswer, options: TestHttpOptions = {}): Promise<Runs> {
  const server = await loopbackServer({ runs: [answer] });
  onTestFinished(() => server.close());
  const { http } = httpTo(server.endpoint, { connection: { timeoutMs: 30_000 }, ...options });
  const { endpoint } = server;
  const projects = new Projects(http.call, endpoint);
  return new Runs(http, { host: endpoint, endpoint, projects, uploader: noUploads });
}

describe.sequential("an answer of 20 MB", () => {
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
    // The last turn is counted when the timer has its next one.
    await delay(20);
    watch.stop();
    expect(Array.isArray(run.inputs?.["items"])).toBe(true);
    expect(watch.longest.cpuMs).toBeLessThan(250);
  });
});

test("an answer above maxResponseBytes is an error that names the option and what to do", async () => {
  const body = runOf("1").slice(0, 100_000);
  const runs = await runsTo({ body }, { maxResponseBytes: 65_536 });
  const refused = runs.read(id);
  await expect(refused).rejects.toThrow(ResponseError);
  await expect(refused).rejects.toThrow(
    "Failed to read run: the answer is larger than the 65536 bytes of the option maxResponseBytes. Ask for less (`limit`, `select`), or raise it (MILLRACE_MAX_RESPONSE_BYTES)",
  );
});

test("an answer that is nested too deeply is an error that says what to do", async () => {
  const body = `{"id":"${id}","a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  const refused = (await runsTo({ body })).read(id);
  await expect(refused).rejects.toThrow(ResponseError);
  await expect(refused).rejects.toThrow(
    "Failed to read run: the answer holds more than 10000 lists and objects in one another; ask for less",
  );
});

test("of a refusal no more than 64 KiB is read", async () => {
  let written = 0;
  const runs = await runsTo((response) => {
    response.writeHead(400, { "content-type": "application/json" });
    const more = (): void => {
      while (!response.destroyed && written < answerBytes) {
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
  // What the sockets of this machine hold in between is a few megabytes.
  expect(written).toBeLessThan(answerBytes);
});

test("an aborted call ends while its answer is parsed", async () => {
  const ending = new AbortController();
  const runs = await runsTo({ body: runOf("[]") });
  const read = runs.read(id, { signal: ending.signal });
  setTimeout(() => ending.abort(), 60);
  await expect(read).rejects.toMatchObject({ code: "ABORTED" });
});
