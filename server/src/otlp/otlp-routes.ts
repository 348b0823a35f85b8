import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import { route } from "../http/route.ts";
import type { IngestDependencies } from "../runs/handlers/ingest-handlers.ts";
import { spansResponses, spansErrors, spansSchemas } from "./otlp-schemas.ts";

/**
 * Adds the route for OTLP (the OpenTelemetry protocol) over HTTP. The handler reads the body itself, because the
 * encoding determines how to parse it.
 */
export function addOtlpRoutes(app: FastifyInstance, dependencies: IngestDependencies): void {
  app.route({
    ...route(endpoints.sendSpans, {
      tag: "spans",
      summary: "Receives OpenTelemetry spans (OTLP as JSON or protobuf) as runs.",
      bodyContents: spansSchemas,
      response: { contents: spansResponses },
      errors: { contents: spansErrors },
    }),
    errorHandler: (cause, request, reply) =>
      void loadHandler().then(
        ({ sendSpanError }) => sendSpanError(cause, request, reply),
        () => reply.send(cause),
      ),
    handler: async (request, reply) =>
      (await loadHandler()).receiveSpans(dependencies, request, reply),
  });
}

/** Loaded at the first request: the protobuf decoder would be a tenth of the code that each start of a server loads. */
const loadHandler = () => import("./otlp-handler.ts");
