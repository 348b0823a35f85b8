import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import { answerSpanFailure, receiveSpans } from "./otlp-handler.ts";
import { route } from "../http/route.ts";
import type { IngestDependencies } from "../runs/handlers/ingest-handlers.ts";

/** OTLP over HTTP. The handler reads the body itself: its encoding decides how. */
export function addOtlpRoutes(app: FastifyInstance, dependencies: IngestDependencies): void {
  app.route({
    ...route(endpoints.sendSpans, {
      tag: "spans",
      summary: "Takes in spans of OpenTelemetry (OTLP), as JSON or protobuf, as runs.",
    }),
    errorHandler: (cause, request, reply) => void answerSpanFailure(cause, request, reply),
    handler: (request, reply) => receiveSpans(dependencies, request, reply),
  });
}
