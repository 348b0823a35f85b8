import { createServer } from "node:http";
import express from "express";
import type { Express } from "express";
import { expect, test, vi } from "vitest";
import { traceErrors, traceRequests } from "../../src/integrations/express/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";
import { closeApplications, listen } from "./web-applications.ts";

closeApplications();

const serve = async (app: Express): Promise<string> => (await listen(createServer(app))).address;

test("without traceErrors, a run that fails has the status of its response as error", async () => {
  const client = new CollectingClient();
  const app = express();
  // Express's own handler prints the error otherwise.
  app.set("env", "test");
  app.use(traceRequests({ client }));
  app.get("/broken", () => {
    throw new Error("broken");
  });
  const address = await serve(app);
  expect((await fetch(`${address}/broken`)).status).toBe(500);
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /broken").error).toBe("The response has status 500");
});

test("an error after the response began fails the run with the error", async () => {
  const client = new CollectingClient();
  const app = express();
  app.set("env", "test");
  app.use(traceRequests({ client }));
  app.get("/broken", async (_request, response) => {
    response.write("part");
    await Promise.reject(new Error("broken half way"));
  });
  app.use(traceErrors);
  const address = await serve(app);
  await expect(fetch(`${address}/broken`).then((response) => response.text())).rejects.toThrow(
    "terminated",
  );
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /broken")).toMatchObject({
    error: expect.stringContaining("broken half way") as unknown,
    outputs: { status: 200, route: "/broken" },
  });
});

test("a request whose client disconnected before the middleware was called ends its run", async () => {
  const client = new CollectingClient();
  const app = express();
  app.use((_request, response, next) => {
    response.once("close", () => {
      next();
    });
    response.socket?.destroy();
  });
  app.use(traceRequests({ client }));
  const address = await serve(app);
  await expect(fetch(address)).rejects.toThrow("fetch failed");
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /").error).toBe(
    "The client disconnected before the response was complete",
  );
});

test("traceErrors passes the error on, also without traceRequests", async () => {
  const app = express();
  const passed: unknown[] = [];
  app.get("/", () => {
    throw new Error("broken");
  });
  app.use(traceErrors);
  app.use(((error, _request, response, _next) => {
    passed.push(error);
    response.status(418).end();
  }) satisfies express.ErrorRequestHandler);
  expect((await fetch(await serve(app))).status).toBe(418);
  expect(passed).toEqual([new Error("broken")]);
});
