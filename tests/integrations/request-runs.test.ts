import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client, currentRun, RunTree } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";
import { applications, closeApplications } from "./web-applications.ts";

closeApplications();

/** Sends a request by hand; returns its socket, after the first byte of the response if one is expected. */
async function sendRequest(address: string, path: string, hasResponse = true) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`);
  if (hasResponse) {
    await once(socket, "data");
  }
  return socket;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe.each(applications)("$framework", ({ start }) => {
  test("each request is one run that contains the runs of its handlers", async () => {
    const client = new CollectingClient();
    const readUser = async (): Promise<unknown> => {
      await Promise.resolve();
      currentRun()?.startChild({ name: "look up" }).end();
      return { found: true };
    };
    const { address } = await start({ client, tags: ["web"] }, { readUser });
    const response = await fetch(`${address}/users/7?token=secret`, {
      headers: { authorization: "secret" },
    });
    await expect(response.json()).resolves.toEqual({ found: true });
    await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
    const run = client.start("GET /users/7");
    expect(run).toMatchObject({ inputs: { method: "GET", path: "/users/7" }, tags: ["web"] });
    expect(run.parentRunId).toBeUndefined();
    expect(client.start("look up")).toMatchObject({ parentRunId: run.id, traceId: run.id });
    const { outputs, error } = client.end("GET /users/7");
    expect({ outputs, error }).toEqual({ outputs: { status: 200, route: "/users/:id" } });
    expect(client.starts()).toHaveLength(2);
    expect(JSON.stringify(client.records)).not.toContain("secret");
  });

  test("the run is current in a handler after the body was read", async () => {
    const client = new CollectingClient();
    const names: unknown[] = [];
    const createUser = async (body: unknown): Promise<unknown> => {
      await Promise.resolve();
      names.push(currentRun()?.name);
      return body;
    };
    const { address } = await start({ client }, { createUser });
    const bodies = [{}, { text: "x".repeat(90_000) }];
    const headers = { "content-type": "application/json" };
    const echoed = await Promise.all(
      bodies.map(async (body, index) => {
        const init = { method: "POST", headers, body: JSON.stringify(body) };
        return (await fetch(`${address}/users?${index}`, init)).json();
      }),
    );
    expect(echoed).toEqual(bodies);
    await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
    expect(names).toEqual(["POST /users", "POST /users"]);
    expect(new Set(client.starts().map(({ traceId }) => traceId)).size).toBe(2);
  });

  test("a request of a traced caller continues the caller's trace", async () => {
    const client = new CollectingClient();
    const { address } = await start({ client });
    const caller = new RunTree({ client, name: "caller", metadata: { user: "u1" } });
    await fetch(`${address}/users/7`, { headers: caller.toHeaders() });
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    expect(client.start("GET /users/7")).toMatchObject({
      parentRunId: caller.id,
      traceId: caller.id,
      metadata: { user: "u1" },
    });
  });

  test("status 500 and an error of a handler end the run as failed, status 404 does not", async () => {
    const client = new CollectingClient();
    const { address } = await start({ client });
    const paths = ["/status/503", "/broken", "/absent", "/missing"];
    const statuses = await Promise.all(
      paths.map(async (path) => (await fetch(`${address}${path}`)).status),
    );
    expect(statuses).toEqual([503, 500, 404, 404]);
    await vi.waitFor(() => expect(client.ends()).toHaveLength(4));
    expect(client.end("GET /status/503")).toMatchObject({
      error: "The response has status 503",
      outputs: { status: 503, route: "/status/:status" },
    });
    expect(client.end("GET /broken")).toMatchObject({
      error: expect.stringContaining("Error: broken") as unknown,
      outputs: { status: 500, route: "/broken" },
    });
    expect(client.end("GET /absent")).toMatchObject({
      error: undefined,
      outputs: { status: 404, route: "/absent" },
    });
    const missing = client.end("GET /missing");
    expect(missing.error).toBeUndefined();
    expect(missing.outputs).toEqual({ status: 404 });
  });

  test("the run of a streaming response ends when the stream ends", async () => {
    const client = new CollectingClient();
    let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
    const stream = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start: (controller) => {
          writer = controller;
        },
      });
    const { address } = await start({ client }, { stream });
    const answer = fetch(`${address}/stream`);
    await vi.waitFor(() => expect(writer).toBeDefined());
    writer?.enqueue(bytes("first "));
    writer?.enqueue(bytes("second "));
    const reader = (await answer).body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("second")) {
      text += (await reader.read()).value ?? "";
    }
    expect(client.ends()).toEqual([]);
    writer?.enqueue(bytes("third"));
    writer?.close();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
    }
    expect(text).toBe("first second third");
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    const { outputs, error } = client.end("GET /stream");
    expect({ outputs, error }).toEqual({ outputs: { status: 200, route: "/stream" } });
  });

  test("a client that disconnects during the response ends the run as failed", async () => {
    const client = new CollectingClient();
    const stream = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start: (controller) => {
          controller.enqueue(bytes("part"));
        },
      });
    const { address } = await start({ client }, { stream });
    (await sendRequest(address, "/stream")).destroy();
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    expect(client.end("GET /stream").error).toBe(
      "The client disconnected before the response was complete",
    );
  });

  test("a client that disconnects before the response ends the run as failed, once", async () => {
    const client = new CollectingClient();
    let answer: (() => void) | undefined;
    const readUser = (): Promise<unknown> =>
      new Promise((resolve) => {
        answer = () => {
          resolve({ late: true });
        };
      });
    const { address } = await start({ client }, { readUser });
    const socket = await sendRequest(address, "/users/7", false);
    await vi.waitFor(() => expect(answer).toBeDefined());
    socket.destroy();
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    answer?.();
    await new Promise(setImmediate);
    expect(client.ends()).toHaveLength(1);
    expect(client.end("GET /users/7").error).toBe(
      "The client disconnected before the response was complete",
    );
  });

  test("a request to HEAD ends its run, although nobody reads the body", async () => {
    const client = new CollectingClient();
    const { address } = await start({ client });
    expect((await fetch(`${address}/users/7`, { method: "HEAD" })).status).toBe(200);
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    expect(client.end("HEAD /users/7")).toMatchObject({ error: undefined });
  });

  test("nothing that was recorded is lost when the server is closed", async () => {
    const server = await runServer();
    const client = new Client({ endpoint: server.url, projectName: "web" });
    onTestFinished(async () => void (await client.close()));
    const stream = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start: (controller) => {
          controller.enqueue(bytes("part"));
        },
      });
    const { address, close } = await start({ client }, { stream });
    await fetch(`${address}/users/7`);
    await sendRequest(address, "/stream");
    await close();
    // Read by another client: this one sends nothing any more that would only arrive later.
    const reader = new Client({ endpoint: server.url, enabled: false });
    onTestFinished(async () => void (await reader.close()));
    const runs = await reader.runs.list({ projectNames: ["web"] }).toArray();
    expect(runs.map(({ name, endTime }) => `${name} ${typeof endTime}`).toSorted()).toEqual([
      "GET /stream string",
      "GET /users/7 string",
    ]);
    const error = runs.find(({ name }) => name === "GET /stream")?.error;
    expect(error).toMatch(/was closed before|disconnected before/);
  });
});
