import type { FastifyInstance, FastifyRequest } from "fastify";
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

/** The path that an exporter adds to its endpoint. */
const exporterPath = endpoints.sendSpans.path.replace(/^\/otel/, "");

/**
 * Returns a hint where to send spans, for a request to `/v1/traces`: an exporter sends its spans there if its endpoint
 * is the address of the server, without `/otel`. Returns an empty text for any other request.
 */
export function describeSpansPath({ method, url, baseUrl }: FastifyRequest): string {
  const [path = ""] = url.split("?");
  return method === endpoints.sendSpans.method && path.replace(/\/$/, "") === exporterPath
    ? `: spans go to ${baseUrl}${endpoints.sendSpans.path}; set OTEL_EXPORTER_OTLP_ENDPOINT to ${baseUrl}/otel`
    : "";
}
