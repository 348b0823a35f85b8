import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { monitoringEndpoints } from "../http/monitoring-endpoints.ts";
import { route } from "../http/route.ts";
import { Flag, Text } from "../http/schema-parts.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import type { ObservedLog, ObservedStore, ServerMetrics } from "./server-metrics.ts";

const apiTag = "server";

/** Milliseconds in which the database must answer a small query for the server to be ready. */
const readyWithinMs = 2_000;

/** The part of the store that shows whether it answers. */
export interface CheckedStore extends Pick<ObservedStore, "readOnlyReason"> {
  assertAnswers(): Promise<void>;
}

const livenessSchema = Type.Object({ status: Text }, { title: "Liveness" });
const logReadinessSchema = Type.Object(
  {
    waiting_messages: Type.Optional(Type.Integer()),
    waiting_bytes: Type.Optional(Type.Integer()),
    lag_seconds: Type.Optional(Type.Number()),
    dead_letters: Type.Optional(Type.Integer()),
    reconnects: Type.Integer(),
  },
  { title: "LogReadiness" },
);
const readinessSchema = Type.Object(
  { status: Text, accepts_writes: Flag, log: Type.Optional(logReadinessSchema) },
  { title: "Readiness" },
);

/** Measures each request of the application. */
export function observeRequests(app: FastifyInstance, metrics: ServerMetrics): void {
  app.addHook("onResponse", (request, reply, done) => {
    metrics.observeRequest({
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1_000,
    });
    done();
  });
}

/** Adds the routes from which a supervisor or a load balancer reads the state of the server. They need no key. */
export function addHealthRoutes(
  app: FastifyInstance,
  store: CheckedStore,
  log?: ObservedLog,
): void {
  app.route({
    ...route(monitoringEndpoints.readLiveness, {
      tag: apiTag,
      summary: "Responds while the process answers requests.",
      isPublic: true,
      response: livenessSchema,
    }),
    handler: async () => ({ status: "live" }),
  });
  app.route({
    ...route(monitoringEndpoints.readReadiness, {
      tag: apiTag,
      summary:
        "Checks whether the database and the ingest log answer, and whether the database accepts writes.",
      isPublic: true,
      response: readinessSchema,
    }),
    handler: async () => {
      if (app.isDraining) {
        throw new RequestError(503, "the server is about to close", 1);
      }
      await assertReady(store);
      if (log?.isConnected === false && !log.canStoreDirectly) {
        throw new RequestError(503, "the ingest log can't be reached, so no runs are received");
      }
      return {
        status: "ready",
        accepts_writes: store.readOnlyReason === undefined,
        ...(log && { log: toLogReadiness(log) }),
      };
    },
  });
}

const toLogReadiness = ({ state, reconnects }: ObservedLog) => ({
  ...(state && {
    waiting_messages: state.waitingMessages,
    waiting_bytes: state.waitingBytes,
    lag_seconds: state.lagSeconds,
    dead_letters: state.deadLetters,
  }),
  reconnects,
});

/** Adds the route that Prometheus reads. */
export function addMetricRoute(app: FastifyInstance, metrics: ServerMetrics): void {
  app.route({
    ...route(monitoringEndpoints.readServerMetrics, {
      tag: apiTag,
      summary: "Reads the metrics of the server in the text format of Prometheus.",
      response: { contents: { "text/plain": Type.String() } },
    }),
    handler: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.write()),
  });
}

/** @throws RequestError 503: the database does not answer. The message contains no paths. */
async function assertReady(store: CheckedStore): Promise<void> {
  const timeout = new AbortController();
  try {
    await Promise.race([
      store.assertAnswers(),
      sleep(readyWithinMs, undefined, { signal: timeout.signal }).then(() => {
        throw new RequestError(503, `the database did not answer within ${readyWithinMs} ms`);
      }),
    ]);
  } catch (cause) {
    if (cause instanceof RequestError) {
      throw cause;
    }
    process.emitWarning(`the readiness check failed: ${messageOf(cause)}`);
    throw new RequestError(503, "the database can't be read: the log of the server says why");
  } finally {
    timeout.abort();
  }
}
