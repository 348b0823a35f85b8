import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { expect, test } from "vitest";
import { traceRequests } from "../../src/integrations/hono/index.ts";
import { currentRun } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

function createApplication() {
  const client = new CollectingClient();
  const app = new Hono();
  app.use(traceRequests({ client }));
  return { app, client };
}

test("the run is current while the response's body is created", async () => {
  const { app, client } = createApplication();
  const names: unknown[] = [];
  app.get("/stream", () => {
    const pull = (controller: ReadableStreamDefaultController<string>): void => {
      names.push(currentRun()?.name);
      controller.enqueue("part ");
      if (names.length === 3) {
        controller.close();
      }
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    return new Response(body.pipeThrough(new TextEncoderStream()));
  });
  const response = await app.request("/stream");
  expect(client.ends()).toEqual([]);
  expect(await response.text()).toBe("part part part ");
  expect(names).toEqual(["GET /stream", "GET /stream", "GET /stream"]);
  expect(client.end("GET /stream").error).toBeUndefined();
});

test("a reader that cancels the body ends the run as failed and cancels the handler's stream", async () => {
  const { app, client } = createApplication();
  const reasons: unknown[] = [];
  app.get("/stream", () => {
    const cancel = (reason: unknown): void => {
      reasons.push(reason);
    };
    return new Response(new ReadableStream({ cancel }));
  });
  const response = await app.request("/stream");
  await response.body?.cancel("enough");
  expect(reasons).toEqual(["enough"]);
  expect(client.end("GET /stream")).toMatchObject({
    error: "The client disconnected before the response was complete",
    outputs: { status: 200, route: "/stream" },
  });
});

test("a body that fails ends the run with its error and fails for the reader", async () => {
  const { app, client } = createApplication();
  app.get("/stream", () => {
    const pull = (): void => {
      throw new Error("broken half way");
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  });
  const response = await app.request("/stream");
  await expect(response.text()).rejects.toThrow("broken half way");
  expect(client.end("GET /stream").error).toContain("Error: broken half way");
});

test("headers, cookies and status of the response stay as they are", async () => {
  const { app } = createApplication();
  app.get("/", (context) => {
    context.header("set-cookie", "a=1", { append: true });
    context.header("set-cookie", "b=2", { append: true });
    context.header("x-one", "1");
    return context.json({ ok: true }, 201);
  });
  const response = await app.request("/");
  expect(response.status).toBe(201);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(response.headers.get("x-one")).toBe("1");
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ ok: true });
});

test("a thrown value that is no Error ends the run and reaches the caller", async () => {
  const { app, client } = createApplication();
  app.get("/", () => {
    // oxlint-disable-next-line typescript/only-throw-error -- Hono treats such values differently
    throw "a text";
  });
  await expect(app.request("/")).rejects.toBe("a text");
  expect(client.end("GET /").error).toContain("a text");
});

test("an HTTPException with status 503 ends the run as failed", async () => {
  const { app, client } = createApplication();
  app.get("/", () => {
    throw new HTTPException(503, { message: "overloaded" });
  });
  await (await app.request("/")).text();
  expect(client.end("GET /").error).toContain("overloaded");
});

test("middleware that responds has no route, and a handler for all methods has one", async () => {
  const { app, client } = createApplication();
  app.use("/private/*", async (context, _next) => context.text("no", 401));
  app.all("/proxy/*", (context) => context.text("ok"));
  await (await app.request("/private/page")).text();
  await (await app.request("/proxy/page")).text();
  expect(client.end("GET /private/page").outputs).toEqual({ status: 401 });
  expect(client.end("GET /proxy/page").outputs).toEqual({ status: 200, route: "/proxy/*" });
});
