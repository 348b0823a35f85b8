import type { FastifyPluginCallback } from "fastify";
import type { TimeLimit } from "../../main/index.ts";
import { endWithResponse, findRequestRun, RequestRuns } from "../request-runs.ts";
import type { TraceRequestsOptions } from "../request-runs.ts";

/** Options of the plugin {@link traceRequests}. */
export interface FastifyTraceOptions extends TraceRequestsOptions {
  /**
   * Whether `app.close()` waits until everything that was recorded has been sent, within the client's time limit or
   * `timeoutMs`.
   *
   * @defaultValue true
   */
  readonly flushOnClose?: boolean | TimeLimit | undefined;
}

const addHooks: FastifyPluginCallback<FastifyTraceOptions> = (
  app,
  { flushOnClose = true, ...options },
  done,
) => {
  const runs = new RequestRuns(options);
  app.addHook("onRequest", (request, reply, next) => {
    const { raw, method, originalUrl: url, headers } = request;
    const requestRun = runs.start(raw, { method, url, headers });
    if (requestRun === undefined) {
      next();
      return;
    }
    endWithResponse(requestRun, reply.raw, () => request.routeOptions.url);
    requestRun.enter(next);
  });
  app.addHook("onError", async ({ raw }, _reply, error) => {
    findRequestRun(raw)?.rememberError(error);
  });
  if (flushOnClose !== false) {
    const limit = flushOnClose === true ? undefined : flushOnClose;
    app.addHook("onClose", async () => {
      await runs.flush(limit);
    });
  }
  done();
};

/**
 * A Fastify plugin that records one run for each request. All runs that hooks and handlers start are its descendants.
 * The run is a child of the caller's run if the request's headers name one. Inputs are the method and the path, without
 * the query, which may contain secrets; outputs are the status and the route. A response with status 500 or higher, an
 * error that a handler throws, and a client that disconnects before the response is complete, end the run as failed. An
 * error with a status below 500 counts as a response and does not fail the run. Never throws.
 *
 * Register it before other plugins: `app.register(traceRequests)`. It applies to the whole application.
 */
export const traceRequests: FastifyPluginCallback<FastifyTraceOptions> = Object.assign(addHooks, {
  // Fastify otherwise limits the hooks of a plugin to routes that the plugin itself adds.
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "millrace",
});
