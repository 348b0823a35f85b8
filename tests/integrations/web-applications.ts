import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import type { ErrorRequestHandler } from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { afterEach } from "vitest";
import {
  traceErrors,
  traceRequests as traceExpress,
} from "../../src/integrations/express/index.ts";
import { traceRequests as traceFastify } from "../../src/integrations/fastify/index.ts";
import { traceRequests as traceHono } from "../../src/integrations/hono/index.ts";
import type { TraceRequestsOptions } from "../../src/integrations/request-runs.ts";

/** What the handlers of an application do, so that a test can observe them. */
export interface Handlers {
  /** Called by the handler of `GET /users/:id`; returns its response. */
  readonly readUser?: () => Promise<unknown>;
  /** Called by the handler of `POST /users` with the parsed body; returns its response. */
  readonly createUser?: (body: unknown) => Promise<unknown>;
  /** The chunks of the response to `GET /stream`. */
  readonly stream?: () => ReadableStream<Uint8Array>;
}

/** An application that serves the same routes with one of the frameworks, with the integration added twice. */
export interface WebApplication {
  readonly framework: string;
  readonly start: (
    options: TraceRequestsOptions,
    handlers?: Handlers,
  ) => Promise<RunningApplication>;
}

interface RunningApplication {
  readonly address: string;
  /** Closes the server and all connections, and flushes, in the way that the documentation shows. */
  readonly close: () => Promise<void>;
}

const closers: (() => unknown)[] = [];

/** Closes the applications that a test started. */
export function closeApplications(): void {
  afterEach(() => Promise.all(closers.splice(0).map((close) => close())));
}

const nothing = async (): Promise<unknown> => ({ found: true });
const emptyStream = (): ReadableStream<Uint8Array> => new ReadableStream();
const brokenError = new Error("broken");
const missingError = Object.assign(new Error("no such user"), { status: 404 });

export const applications: readonly WebApplication[] = [
  {
    framework: "express",
    start: async (
      options,
      { readUser = nothing, createUser = nothing, stream = emptyStream } = {},
    ) => {
      const app = express();
      const tracer = traceExpress(options);
      app.use(tracer);
      app.use(traceExpress(options));
      app.use(express.json());
      const users = express.Router();
      users.get("/:id", async (_request, response) => {
        response.json(await readUser());
      });
      users.post("/", async ({ body }, response) => {
        response.json(await createUser(body));
      });
      app.use("/users", users);
      app.get("/status/:status", ({ params }, response) => {
        response.status(Number(params.status)).end();
      });
      app.get("/broken", () => {
        throw brokenError;
      });
      app.get("/absent", async () => {
        await Promise.reject(missingError);
      });
      app.get("/stream", async (_request, response) => {
        for await (const chunk of stream()) {
          response.write(chunk);
        }
        response.end();
      });
      app.use(traceErrors);
      // Express's own handler would print the error.
      app.use(((error: unknown, _request, response, _next) => {
        response.status(error === missingError ? 404 : 500).end();
      }) satisfies ErrorRequestHandler);
      return listen(createServer(app), () => tracer.flush());
    },
  },
  {
    framework: "fastify",
    start: async (
      options,
      { readUser = nothing, createUser = nothing, stream = emptyStream } = {},
    ) => {
      const app = fastify({ forceCloseConnections: true });
      await app.register(traceFastify, options);
      await app.register(traceFastify, options);
      app.get("/users/:id", () => readUser());
      app.post("/users", ({ body }) => createUser(body));
      app.get<{ Params: { readonly status: string } }>("/status/:status", ({ params }, reply) =>
        reply.status(Number(params.status)).send(),
      );
      app.get("/broken", () => Promise.reject(brokenError));
      app.get("/absent", () => Promise.reject(missingError));
      app.get("/stream", () => new Response(stream()));
      closers.push(() => app.close());
      const address = await app.listen({ port: 0, host: "127.0.0.1" });
      return { address, close: () => app.close() };
    },
  },
  {
    framework: "hono",
    start: async (
      options,
      { readUser = nothing, createUser = nothing, stream = emptyStream } = {},
    ) => {
      const app = new Hono();
      const tracer = traceHono(options);
      app.use(tracer);
      app.use(traceHono(options));
      const users = new Hono();
      users.get("/:id", async (context) => context.json((await readUser()) as object));
      users.post("/", async (context) =>
        context.json((await createUser(await context.req.json())) as object),
      );
      app.route("/users", users);
      app.get(
        "/status/:status",
        ({ req }) => new Response(null, { status: Number(req.param("status")) }),
      );
      app.get("/broken", () => {
        throw brokenError;
      });
      app.get("/absent", () => {
        throw new HTTPException(404, { message: missingError.message });
      });
      app.get("/stream", () => new Response(stream()));
      // Hono's own handler would print the error.
      app.onError((error, context) =>
        error instanceof HTTPException ? error.getResponse() : context.body(null, 500),
      );
      return listen(createAdaptorServer({ fetch: app.fetch }) as Server, () => tracer.flush());
    },
  },
];

/** Starts a server on a free port. It is closed after the test. */
export async function listen(
  server: Server,
  flush: () => Promise<unknown> = async () => {},
): Promise<RunningApplication> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
    await flush();
  };
  closers.push(() => (server.listening ? close() : undefined));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
