import { mkdtempSync, rmSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import type { ClientOptions } from "millrace";
import { replaySpool } from "millrace/spool";
import { expect, onTestFinished, test, vi } from "vitest";
import { createTestSink, neverAborted, sendOne } from "../support/connections.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { batchOf, manyRuns } from "../support/run-batch.ts";
import { startStatusServer } from "../support/status-server.ts";
import { ca, serverTls } from "../support/tls.ts";

/** Starting a server with its threads and files takes long on a busy machine. */
const longTimeout = { timeout: 60_000 };

function client(options: ClientOptions): Client {
  const newClient = new Client({ logger: { warn: () => undefined }, ...options });
  onTestFinished(async () => void (await newClient.close({ timeoutMs: 0 })));
  return newClient;
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-chaos-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A proxy in front of a server that resets the connection when a response arrives, `cuts` times. */
async function startResponseCutter(
  port: number,
  cuts: number,
): Promise<{ url: string; left: number }> {
  const state = { url: "", left: cuts };
  const sockets = new Set<Socket>();
  const cutter = createServer((socket) => {
    const upstream = connect(port, "127.0.0.1");
    for (const each of [socket, upstream]) {
      sockets.add(each);
      each.on("error", () => undefined);
    }
    socket.pipe(upstream);
    upstream.on("data", (chunk) => {
      if (state.left > 0) {
        state.left -= 1;
        socket.resetAndDestroy();
        upstream.destroy();
      } else {
        socket.write(chunk);
      }
    });
    socket.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => {
    cutter.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    cutter.close();
  });
  state.url = `http://127.0.0.1:${(cutter.address() as AddressInfo).port}`;
  return state;
}

test(
  "runs whose responses were lost are stored by the local server once",
  longTimeout,
  async () => {
    const server = await startServer({ port: 0, dataDir: emptyFolder() });
    onTestFinished(() => server.close());
    const cutter = await startResponseCutter(Number(new URL(server.url).port), 4);
    const recording = client({ endpoint: cutter.url, projectName: "cut" });
    const ids = Array.from({ length: 40 }, (_, i) => {
      const run = recording.startRun({ name: `run ${i}`, inputs: { i } });
      run.end({ i });
      return run.id;
    });
    expect(await recording.flush()).toMatchObject({ delivered: 80, lost: 0, pending: 0 });
    expect(cutter.left).toBe(0);
    const runs = await client({ endpoint: server.url })
      .runs.list({ projectNames: ["cut"] })
      .toArray();
    expect(runs.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(runs.map(({ outputs }) => outputs)).toEqual(runs.map(({ inputs }) => inputs));
  },
);

test("a response whose headers arrive byte by byte is abandoned at the timeout", async () => {
  const drip: ScriptedResponse = (response) => {
    const { socket } = response;
    socket?.write("HTTP/1.1 202 Acc");
    const timer = setInterval(() => socket?.write("e"), 20);
    socket?.once("close", () => clearInterval(timer));
  };
  await using server = await loopbackServer({ runs: [drip, { status: 202 }] });
  await using to = createTestSink(server.endpoint, { timeoutMs: 250, requestsInFlight: 1 });
  const one = batchOf(manyRuns(1));
  expect(await to.sink.send(one, neverAborted())).toMatchObject({
    kind: "retry",
    isServerUnavailable: true,
  });
  expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
});

test.each([429, 503])(
  "after a %i with a Retry-After of a day, the client waits no longer than the limit and drops nothing",
  async (status) => {
    const headers = { "retry-after": "86400" };
    await using server = await loopbackServer({
      runs: [{ status, headers }, { status, headers }, { status: 202 }],
    });
    const recording = client({
      endpoint: server.endpoint,
      retryAfterLimitMs: 100,
      timeoutMs: 2_000,
    });
    recording.startRun({ name: "run" }).end();
    expect(await recording.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
    expect(recording.stats()).toMatchObject({ retries: 2, dropped: 0 });
  },
);

test("401 until the key is valid: logged once, counted, kept on disk; then runs are delivered without a restart", async () => {
  const server = await startStatusServer(401);
  const spoolDir = emptyFolder();
  const messages: string[] = [];
  const recording = client({
    endpoint: server.url,
    apiKey: "the-key-of-yesterday",
    spoolDir,
    logger: { warn: (message) => messages.push(message) },
  });
  const early: string[] = [];
  for (let i = 0; i < 10; i++) {
    const run = recording.startRun({ name: `early ${i}` });
    run.end({ i });
    early.push(run.id);
    await recording.flush();
  }
  expect(recording.stats()).toMatchObject({ accepted: 20, rejected: 20, retries: 0 });
  const refusals = messages.filter((line) => line.includes("401"));
  // One message when it happens, and one with the records that were lost.
  expect(refusals.map((line) => line.includes("Lost"))).toEqual([false, true]);
  expect(messages.join("\n")).not.toContain("the-key-of-yesterday");

  server.status = 202;
  const late = recording.startRun({ name: "late" });
  late.end({});
  expect(await recording.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  expect([...server.ended]).toEqual([late.id]);
  await recording.close();
  const options = { endpoint: server.url, spoolDir, limitMs: 10_000 };
  expect(await replaySpool(options)).toMatchObject({ delivered: 20, rejected: 0, left: 0 });
  expect(server.ended).toEqual(new Set([...early, late.id]));
});

test("connections that are closed at the moment of reuse cost an attempt, never a run", async () => {
  const close: ScriptedResponse = (response) => {
    const { socket } = response;
    response.writeHead(202).end("{}");
    // Closes without notice, so the client only finds out when it uses the connection again.
    response.once("finish", () => setImmediate(() => socket?.destroy()));
  };
  await using server = await loopbackServer({ runs: [close] });
  const recording = client({ endpoint: server.endpoint, requestsInFlight: 2 });
  for (let round = 0; round < 40; round++) {
    recording.startRun({ name: "run" }).end();
    expect(await recording.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  }
  expect(recording.stats()).toMatchObject({ accepted: 80, delivered: 80 });
});

test("a server that offers HTTP/2 gets HTTP/1.1 requests, so no stream can be refused", async () => {
  const versions: string[] = [];
  const server = createSecureServer({ ...serverTls, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    request.resume();
    response.writeHead(202);
    response.end("{}");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await sendOne(`https://127.0.0.1:${port}`, { ca })).toEqual({ kind: "delivered" });
  expect(versions).toEqual(["1.1"]);
});

test(
  "a main thread that is blocked for 5 seconds causes no request to time out",
  longTimeout,
  async () => {
    const server = await startServer({ port: 0, dataDir: emptyFolder() });
    onTestFinished(() => server.close());
    const recording = client({ endpoint: server.url, timeoutMs: 3_000 });
    recording.startRun({ name: "warm" }).end();
    await recording.flush();
    const order: string[] = [];
    for (let i = 0; i < 500; i++) {
      order.push(
        recording.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(3_000) } }).dottedOrder,
      );
    }
    const flushed = recording.flush();
    const deadline = performance.now() + 5_000;
    while (performance.now() < deadline) {
      // Blocks the event loop. The server and the worker have their own threads.
    }
    expect(await flushed).toMatchObject({ delivered: 500, lost: 0, pending: 0 });
    expect(recording.stats().retries).toBe(0);
    expect(order).toEqual(order.toSorted());
  },
);

test("a server that is temporarily down is tried at growing intervals, and delivery resumes by itself", async () => {
  const server = await startStatusServer(503);
  const recording = client({ endpoint: server.url, attempts: 1 });
  const run = recording.startRun({ name: "run" });
  run.end({});
  const { pending } = await recording.flush({ timeoutMs: 300 });
  expect(pending).toBe(2);
  server.status = 202;
  await vi.waitFor(() => expect([...server.ended]).toEqual([run.id]), { timeout: 10_000 });
  expect(await recording.flush()).toMatchObject({ lost: 0, pending: 0 });
  expect(recording.stats()).toMatchObject({ accepted: 2, delivered: 2, pending: 0 });
});
