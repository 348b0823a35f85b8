import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import { disconnectedStatus } from "../monitoring/server-log.ts";
import { ownSpansHeader } from "./telemetry.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * Records each request as a span, from the arrival of its headers until its response has ended. A request with which a
 * server sends its own spans is not recorded (see {@link ownSpansHeader}).
 */
export function recordRequests(app: FastifyInstance, telemetry: Telemetry): void {
  app.addHook("onRequest", (request, { raw }, done) => {
    const { method, headers, routeOptions } = request;
    // Record the pattern of the route, not the path, because a path may contain the token of a link.
    const { url: route } = routeOptions;
    if (route === endpoints.sendSpans.path && headers[ownSpansHeader] !== undefined) {
      done();
      return;
    }
    const span = telemetry.startRequest({
      name: route === undefined ? method : `${method} ${route}`,
      attributes: {
        "http.request.method": method,
        ...(route === undefined ? {} : { "http.route": route }),
        "millrace.request.id": request.id,
      },
      headers,
    });
    raw.once("close", () => {
      const status = raw.writableFinished ? raw.statusCode : disconnectedStatus;
      span.end({
        attributes: {
          "http.response.status_code": status,
          ...(request.tenantId === "" ? {} : { "millrace.tenant.id": request.tenantId }),
        },
        // A refused request is an error of the client, so the server's span does not count as failed.
        ...(status >= 500 ? { errorType: String(status) } : {}),
      });
    });
    span.run(done);
  });
}
