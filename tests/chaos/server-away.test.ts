import { Client } from "millrace";
import type { ClientOptions } from "millrace";
import { afterEach, describe, expect, test, vi } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { serverTls } from "../support/tls.ts";

const clients: Client[] = [];

afterEach(async () => {
  for (const created of clients.splice(0)) {
    await created.close({ timeoutMs: 0 });
  }
});

interface Recording {
  readonly client: Client;
  readonly lines: string[];
}

/** A client that has recorded one run. */
function recording(endpoint: string, options: ClientOptions = {}): Recording {
  const lines: string[] = [];
  const client = new Client({ endpoint, logger: { warn: (line) => lines.push(line) }, ...options });
  clients.push(client);
  client.startRun({ name: "run" }).end({});
  return { client, lines };
}

const unreachable = "http://127.0.0.1:9";
/** Time from recording to the log message, including the start of a worker thread on a busy machine. */
const pollOptions = { timeout: 6_000, interval: 10 };

describe("the first failure is logged at once, with its cause and what to do", () => {
  test("no server is listening", async () => {
    const { client, lines } = recording(unreachable);
    await vi.waitFor(() => expect(lines).toHaveLength(1), pollOptions);
    expect(lines[0]).toMatch(
      /Failed to send runs: connect ECONNREFUSED 127\.0\.0\.1:9\. Start a server with "npx millrace serve --port 9", or set MILLRACE_ENDPOINT/,
    );
    const { lastFailure, pending, deliveryMs } = client.stats();
    // The first series of attempts continues: no worker has reported a result of the whole tape yet.
    expect({ pending, count: deliveryMs.count }).toEqual({ pending: 2, count: 0 });
    expect(lastFailure).toEqual({
      at: expect.any(Number) as number,
      cause: "Failed to send runs: connect ECONNREFUSED 127.0.0.1:9",
      code: "NETWORK",
      endpoint: unreachable,
    });
    expect(Date.now() - (lastFailure?.at ?? 0)).toBeLessThan(2_000);
    // A retry is counted before its request.
    await vi.waitFor(() => expect(client.stats().requests).toBeGreaterThan(1), pollOptions);
    expect(client.stats().retries).toBeGreaterThan(0);
    expect(client.stats().bytes.sent).toBeGreaterThan(0);
  });

  test("a missing unix socket", async () => {
    const { lines } = recording("http://localhost:1984", { socketPath: "/nowhere/at/all.sock" });
    await vi.waitFor(() => expect(lines).toHaveLength(1), pollOptions);
    expect(lines[0]).toMatch(/ENOENT.*Check that a server listens at the option socketPath/);
  });

  test("a host without an address, and the variable that named it", async () => {
    vi.stubEnv("LANGSMITH_ENDPOINT", "http://nowhere.invalid/");
    try {
      const lines: string[] = [];
      const client = new Client({ logger: { warn: (line) => lines.push(line) } });
      clients.push(client);
      client.startRun({ name: "run" }).end({});
      await vi.waitFor(() => expect(lines).toHaveLength(1), pollOptions);
      expect(lines[0]).toMatch(/(ENOTFOUND|EAI_AGAIN) nowhere\.invalid/);
      expect(lines[0]).toContain(
        "Check that this is the address of your server: LANGSMITH_ENDPOINT",
      );
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("a certificate that can't be trusted", async () => {
    await using server = await loopbackServer({ tls: serverTls });
    const { client, lines } = recording(server.endpoint.replace("http:", "https:"));
    await vi.waitFor(() => expect(client.stats().rejected).toBe(2), pollOptions);
    expect(lines[0]).toMatch(
      /certificate can't be trusted; pass its certificate authority as the option ca/,
    );
    expect(client.stats().lastFailure).toMatchObject({ code: "CERTIFICATE" });
  });

  test("a key that the server refuses; other records of the tape are still sent", async () => {
    await using server = await loopbackServer({ runs: [{ status: 401, body: "who are you" }] });
    const { client, lines } = recording(server.endpoint, { apiKey: "not-the-key" });
    await vi.waitFor(() => expect(client.stats().rejected).toBe(2), pollOptions);
    expect(lines[0]).toMatch(/401 who are you\. Check the key: MILLRACE_API_KEY/);
    expect(lines[1]).toMatch(/Lost 2 records \(rejected\).*Last failure.*401 who are you/);
    expect(lines.join("\n")).not.toContain("not-the-key");
    expect(client.stats().lastFailure).toMatchObject({ status: 401, code: "HTTP" });
  });

  test("an overloaded server causes no hint", async () => {
    await using server = await loopbackServer({ runs: [{ status: 503, body: "later" }] });
    const { client, lines } = recording(server.endpoint);
    await vi.waitFor(() => expect(lines).toHaveLength(1), pollOptions);
    expect(lines[0]).toMatch(/503 later\. Records are kept in memory and sent when /);
    expect(client.stats().lastFailure).toMatchObject({ status: 503 });
  });
});

test("each loss is logged with the last failure", async () => {
  const { client, lines } = recording(unreachable, { maxQueueRecords: 2 });
  await vi.waitFor(() => expect(lines).toHaveLength(1), pollOptions);
  client.startRun({ name: "one too many" });
  await client.close({ timeoutMs: 0 });
  expect(lines[1]).toMatch(/Lost 1 record \(queueFull\).*Last failure, at 20.*ECONNREFUSED/);
  expect(lines[2]).toMatch(/Lost 2 records \(closed\).*ECONNREFUSED 127\.0\.0\.1:9 \(http:/);
});

test("flush, drain and close without a limit wait a moment for a server that was never reached", async () => {
  const { client } = recording(unreachable);
  await vi.waitFor(() => expect(client.stats().lastFailure).toBeDefined(), pollOptions);
  const began = performance.now();
  expect(await client.flush()).toMatchObject({ delivered: 0, pending: 2 });
  await client.close();
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(client.stats().lost.closed).toBe(2);
});

test("an explicit limit is waited for", async () => {
  const { client } = recording(unreachable, { drainTimeoutMs: 2_500 });
  await vi.waitFor(() => expect(client.stats().lastFailure).toBeDefined(), pollOptions);
  const began = performance.now();
  await client.flush();
  expect(performance.now() - began).toBeGreaterThan(2_400);
  const secondBegan = performance.now();
  await client.flush({ timeoutMs: 1_500 });
  expect(performance.now() - secondBegan).toBeGreaterThan(1_400);
});

test("a server that was reached is waited for when it fails later", async () => {
  await using server = await loopbackServer({
    info: { status: 404 },
    runs: [{ status: 202 }, { status: 503 }, { status: 503 }, { status: 503 }, { status: 202 }],
  });
  const { client } = recording(server.endpoint);
  expect(await client.flush()).toMatchObject({ delivered: 2 });
  client.startRun({ name: "later" });
  const began = performance.now();
  expect(await client.flush()).toMatchObject({ delivered: 1, pending: 0 });
  // At least three waits of minimum length, which is longer than the wait for a server that was never reached.
  expect(performance.now() - began).toBeGreaterThan(1_500);
});

describe("an endpoint that may not be a tracing server", () => {
  const strange = /responds to \/info without a version, so it may not be a tracing server/;
  const countWarnings = (lines: readonly string[]) =>
    lines.filter((line) => strange.test(line)).length;

  test.each<readonly [string, ScriptedResponse, number]>([
    ["no version", { body: "{}" }, 1],
    ["text", { body: "ok" }, 1],
    ["a page", { body: "<!doctype html><p>Welcome" }, 1],
    ["a version of any form", { body: '{"version":"main-2026"}' }, 0],
    ["nothing: it has no /info", { status: 404 }, 0],
    ["a question for a key", { status: 401 }, 0],
    ["a failure", { status: 500 }, 0],
  ])("/info returns %s: %# warnings", async (_, info, count) => {
    await using server = await loopbackServer({ info });
    const { client, lines } = recording(server.endpoint);
    expect(await client.flush({ timeoutMs: 12_000 })).toMatchObject({ delivered: 2 });
    client.startRun({ name: "another" });
    await client.flush({ timeoutMs: 12_000 });
    expect(countWarnings(lines)).toBe(count);
    expect(client.stats().warnings).toEqual(count === 0 ? {} : { unknownServer: 1 });
  });

  test("an /info that arrives after the responses for runs is waited for, so that a short program gets the warning", async () => {
    await using server = await loopbackServer({
      info: (response) => setTimeout(() => response.writeHead(200).end("{}"), 200),
    });
    const { client, lines } = recording(server.endpoint);
    expect(await client.flush({ timeoutMs: 12_000 })).toMatchObject({ delivered: 2 });
    expect(countWarnings(lines)).toBe(1);
  });

  test("an HTML page instead of a response delivers nothing", async () => {
    const page = { status: 200, body: "<!DOCTYPE html><html><title>Sign in</title>" };
    await using server = await loopbackServer({ info: page, runs: [page] });
    const { client, lines } = recording(server.endpoint);
    expect(await client.flush()).toMatchObject({ delivered: 0, pending: 2 });
    expect(client.stats().lastFailure).toMatchObject({ code: "ANSWER", status: 200 });
    expect(lines.join("\n")).toMatch(/web page.*Check that this is the address of your server/);
  });
});
