import type { Context, MiddlewareHandler } from "hono";
import type { RouterRoute } from "hono/types";
import type { FlushResult, TimeLimit } from "../../main/index.ts";
import { disconnectMessage, RequestRuns } from "../request-runs.ts";
import type { RequestOutputs, RequestRun, TraceRequestsOptions } from "../request-runs.ts";

export type { TraceRequestsOptions } from "../request-runs.ts";

/** Middleware of Hono. */
export interface RequestTracer extends MiddlewareHandler {
  /**
   * Sends everything that was recorded, within the client's time limit or `timeoutMs`. Call it when the server is
   * closed: it also ends the runs of requests whose connections were closed before their responses were complete.
   */
  flush(limit?: TimeLimit): Promise<FlushResult>;
}

/**
 * Creates middleware that records one run for each request. All runs that later handlers start are its descendants. The
 * run is a child of the caller's run if the request's headers name one. Inputs are the method and the path, without the
 * query, which may contain secrets; outputs are the status and the route. The run ends when the response's body has
 * been read to its end. A response with status 500 or higher, an error that a handler throws, and a client that
 * disconnects before the response is complete, end the run as failed. An error with a status below 500, such as an
 * `HTTPException`, counts as a response and does not fail the run. Never throws.
 *
 * Add it before all other middleware: `app.use(traceRequests())`.
 */
export function traceRequests(options: TraceRequestsOptions = {}): RequestTracer {
  const runs = new RequestRuns(options);
  const middleware: MiddlewareHandler = async (context, next) => {
    const { raw, method, path } = context.req;
    const requestRun = runs.start(context.req, { method, url: path, headers: raw.headers });
    if (requestRun === undefined) {
      await next();
      return;
    }
    const onAbort = (): void => {
      // If there is no response yet, reading `context.res` would create one.
      requestRun.abort(disconnectMessage, context.finalized ? readOutputs(context) : undefined);
    };
    raw.signal.addEventListener("abort", onAbort, { once: true });
    try {
      await requestRun.enter(next);
    } catch (error) {
      // Hono turns an `Error` into a response, but passes any other thrown value on.
      requestRun.rememberError(error);
      requestRun.abort("A handler threw");
      throw error;
    }
    if (context.error !== undefined) {
      requestRun.rememberError(context.error);
    }
    endWithBody(requestRun, context);
  };
  return Object.assign(middleware, { flush: (limit?: TimeLimit) => runs.flush(limit) });
}

/** Ends the run when the response's body has been read to its end, or immediately if the response has no body. */
function endWithBody(requestRun: RequestRun, context: Context): void {
  const outputs = readOutputs(context);
  const { body } = context.res;
  // Hono replaces the body of a response to a HEAD request, so it is never read.
  if (body === null || body.locked || context.req.method === "HEAD") {
    requestRun.end(outputs);
    return;
  }
  context.res = new Response(observeBody(body, requestRun, outputs), context.res);
}

/** Returns a stream with the same chunks. A chunk is read from `body` only when it is read from the returned stream. */
function observeBody(
  body: ReadableStream<Uint8Array>,
  requestRun: RequestRun,
  outputs: RequestOutputs,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          // Read in the context of the run: if the handler returned a stream, reading calls the handler's code.
          const { done, value } = await requestRun.enter(() => reader.read());
          if (done) {
            requestRun.end(outputs);
            controller.close();
          } else {
            controller.enqueue(value);
          }
        } catch (error) {
          requestRun.rememberError(error);
          requestRun.abort("The response's body failed", outputs);
          controller.error(error);
        }
      },
      cancel: (reason) => {
        requestRun.abort(disconnectMessage, outputs);
        return reader.cancel(reason);
      },
    },
    // Read nothing in advance.
    { highWaterMark: 0 },
  );
}

const readOutputs = (context: Context): RequestOutputs => ({
  status: context.res.status,
  route: readRoute(context),
});

/** Returns the pattern of the route that responded; `undefined` if only middleware or no route matched. */
function readRoute({ req }: Context): string | undefined {
  // `matchedRoutes` is deprecated in favor of a function of `hono/route`, but importing that module would load Hono
  // itself.
  const routes: readonly RouterRoute[] | undefined = req.matchedRoutes;
  const route = routes?.[req.routeIndex];
  // Middleware is a route for all methods, whose handler takes the parameter `next`.
  return route === undefined || (route.method === "ALL" && route.handler.length > 1)
    ? undefined
    : route.path;
}
