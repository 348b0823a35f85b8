import type { IncomingMessage, ServerResponse } from "node:http";
import type { FlushResult, TimeLimit } from "../../main/index.ts";
import { endWithResponse, findRequestRun, RequestRuns } from "../request-runs.ts";
import type { TraceRequestsOptions } from "../request-runs.ts";

export type { TraceRequestsOptions } from "../request-runs.ts";

/** A request of Express, or of another framework with the same form of middleware, such as Connect. */
interface ServerRequest extends IncomingMessage {
  /**
   * The URL that the client requested. Unlike `url`, it still contains the path prefix at which a router is mounted.
   */
  readonly originalUrl?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** The route that matched the request; absent until one matched. */
  readonly route?: { readonly path?: unknown } | undefined;
}

/** A middleware function of Express 4 or 5. */
export interface RequestTracer {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  /**
   * Sends everything that was recorded, within the client's time limit or `timeoutMs`. Call it when the server is
   * closed: it also ends the runs of requests whose connections were closed before their responses were complete.
   */
  flush(limit?: TimeLimit): Promise<FlushResult>;
}

/**
 * Creates middleware that records one run for each request. All runs that later handlers start are its descendants. The
 * run is a child of the caller's run if the request's headers name one. Inputs are the method and the path, without the
 * query, which may contain secrets; outputs are the status and the route. A response with status 500 or higher, and a
 * client that disconnects before the response is complete, end the run as failed. Never throws.
 *
 * Add it before all other middleware: `app.use(traceRequests())`.
 */
export function traceRequests(options: TraceRequestsOptions = {}): RequestTracer {
  const runs = new RequestRuns(options);
  const middleware = (
    request: ServerRequest,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    const { method = "GET", originalUrl, url = "/", headers } = request;
    const requestRun = runs.start(request, { method, url: originalUrl ?? url, headers });
    if (requestRun === undefined) {
      next();
      return;
    }
    endWithResponse(requestRun, response, () => readRoute(request));
    requestRun.enter(next);
  };
  return Object.assign(middleware, { flush: (limit?: TimeLimit) => runs.flush(limit) });
}

/**
 * An error handler of Express that ends the request's run as failed with the error that a handler threw, instead of
 * only with the status of the response, and passes the error on. An error with a status below 500 does not fail the
 * run.
 *
 * Add it after the routes and before other error handlers: `app.use(traceErrors)`.
 */
// oxlint-disable-next-line max-params -- Express recognizes an error handler by its four parameters
export function traceErrors(
  error: unknown,
  request: IncomingMessage,
  _response: ServerResponse,
  next: (error?: unknown) => void,
): void {
  findRequestRun(request)?.rememberError(error);
  next(error);
}

/** Returns the pattern of the route, such as `/users/:id`; `undefined` if no route matched. */
function readRoute({ baseUrl = "", route }: ServerRequest): string | undefined {
  const { path } = route ?? {};
  return typeof path === "string" ? `${baseUrl}${path}` : undefined;
}
