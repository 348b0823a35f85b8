import fastify from "fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { traceRequests } from "../../src/integrations/fastify/index.ts";
import { Client, currentRun } from "../../src/main/index.ts";
import type { TimeLimit } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

test("requests of inject are recorded like those of a client", async () => {
  const client = new CollectingClient();
  const app = fastify();
  await app.register(traceRequests, { client });
  app.get("/users/:id", async () => ({ run: currentRun()?.name }));
  const response = await app.inject("/users/7?token=secret");
  expect(response.json()).toEqual({ run: "GET /users/7" });
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /users/7")).toMatchObject({
    error: undefined,
    outputs: { status: 200, route: "/users/:id" },
  });
});

test("the plugin applies to routes of plugins registered after it", async () => {
  const client = new CollectingClient();
  const app = fastify();
  await app.register(traceRequests, { client });
  await app.register(
    (users, _options, done) => {
      users.get("/:id", async () => "ok");
      done();
    },
    { prefix: "/users" },
  );
  await app.inject("/users/7");
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /users/7").outputs).toEqual({ status: 200, route: "/users/:id" });
});

test("a request that does not match its schema is a response with status 400, not a failure", async () => {
  const client = new CollectingClient();
  const app = fastify();
  await app.register(traceRequests, { client });
  const schema = { querystring: { type: "object", required: ["page"], properties: {} } };
  app.get("/", { schema }, async () => "ok");
  expect((await app.inject("/")).statusCode).toBe(400);
  await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
  expect(client.end("GET /")).toMatchObject({ error: undefined, outputs: { status: 400 } });
});

/** Records a request, and closes the application. Returns how many records are undelivered then. */
async function countUndelivered(flushOnClose: boolean | TimeLimit): Promise<number> {
  const server = await runServer();
  // Long enough that only a flush sends within the test.
  const client = new Client({ endpoint: server.url, aggregationDelayMs: 30_000 });
  onTestFinished(async () => void (await client.close()));
  const app = fastify();
  await app.register(traceRequests, { client, flushOnClose });
  app.get("/", async () => "ok");
  await app.inject("/");
  await app.close();
  const { accepted, delivered } = client.stats();
  expect(accepted).toBe(2);
  return accepted - delivered;
}

test("flushOnClose false closes the application without sending what was recorded", async () => {
  expect(await countUndelivered(false)).toBe(2);
  expect(await countUndelivered({ timeoutMs: 20_000 })).toBe(0);
  expect(await countUndelivered(true)).toBe(0);
});
