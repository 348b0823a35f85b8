import { once } from "node:events";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import express from "express";
import type { ErrorRequestHandler, Express } from "express";
import { afterEach, expect, test, vi } from "vitest";
import { traceRequests } from "../../src/integrations/express/index.ts";
import { currentRun, RunTree } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

const closers: (() => void)[] = [];

afterEach(() => closers.splice(0).forEach((close) => close()));

/** Starts the app on a free port; returns its address. */
async function listen(app: Express): Promise<string> {
  const server = app.listen(0, "127.0.0.1");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("each request is a run that contains the runs of its handlers", async () => {
  const client = new CollectingClient();
  const app = express();
  app.use(traceRequests({ client, tags: ["web"] }));
  const users = express.Router();
  users.get("/:id", async (_request, response) => {
    await Promise.resolve();
    currentRun()?.startChild({ name: "look up" }).end();
    response.json({ found: true });
  });
  app.use("/users", users);
  const address = await listen(app);
  await expect((await fetch(`${address}/users/7?token=secret`)).json()).resolves.toEqual({
    found: true,
  });
  await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
  const run = client.start("GET /users/7");
  expect(run).toMatchObject({ inputs: { method: "GET", path: "/users/7" }, tags: ["web"] });
  expect(run.parentRunId).toBeUndefined();
  expect(client.start("look up")).toMatchObject({ parentRunId: run.id, traceId: run.id });
  expect(client.end("GET /users/7").outputs).toEqual({ status: 200, route: "/users/:id" });
  expect(JSON.stringify(client.records)).not.toContain("secret");
});

test("a request of a traced caller continues the caller's trace", async () => {
  const client = new CollectingClient();
  const app = express();
  app.use(traceRequests({ client }));
  app.get("/", (_request, response) => void response.send("ok"));
  const address = await listen(app);
  const caller = new RunTree({ client, name: "caller" });
  await fetch(address, { headers: caller.toHeaders() });
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.start("GET /")).toMatchObject({ parentRunId: caller.id, traceId: caller.id });
});

test("status 500 and an error of a handler end the run as failed, status 404 does not", async () => {
  const client = new CollectingClient();
  const app = express();
  app.use(traceRequests({ client }));
  app.get("/broken", () => {
    throw new Error("broken");
  });
  // Express's own handler would print the error.
  app.use(((_error, _request, response, _next) => {
    response.status(500).end();
  }) satisfies ErrorRequestHandler);
  const address = await listen(app);
  expect((await fetch(`${address}/broken`)).status).toBe(500);
  expect((await fetch(`${address}/missing`)).status).toBe(404);
  await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
  expect(client.end("GET /broken")).toMatchObject({
    error: "The response has status 500",
    outputs: { status: 500, route: "/broken" },
  });
  expect(client.end("GET /missing")).toMatchObject({ outputs: { status: 404 }, error: undefined });
});

test("a request whose client disconnects ends its run as failed", async () => {
  const client = new CollectingClient();
  const app = express();
  app.use(traceRequests({ client }));
  app.get("/slow", (_request, response) => void response.write("part"));
  const { hostname, port } = new URL(await listen(app));
  const socket = connect(Number(port), hostname);
  socket.write("GET /slow HTTP/1.1\r\nhost: here\r\n\r\n");
  await once(socket, "data");
  socket.destroy();
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /slow").error).toBe(
    "The client disconnected before the response was complete",
  );
});
