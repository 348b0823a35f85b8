import type { IncomingMessage, ServerResponse } from "node:http";
import { RunTree, withRun } from "../../main/index.ts";
import type { NewRunOptions } from "../../main/index.ts";

/** Options of {@link traceRequests}. */
export type TraceRequestsOptions = Pick<NewRunOptions, "client" | "tags" | "metadata">;

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
export type RequestTracer = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Creates middleware that records one run for each request. All runs that later handlers start are its descendants. The
 * run is a child of the caller's run if the request's headers name one. Inputs are the method and the path, without the
 * query, which may contain secrets; outputs are the status and the route. A response with status 500 or higher, and a
 * client that disconnects before the response is complete, end the run as failed. Never throws.
 *
 * Add it before all other middleware: `app.use(traceRequests())`.
 */
export function traceRequests({
  client,
  tags,
  metadata,
}: TraceRequestsOptions = {}): RequestTracer {
  return (request, response, next) => {
    const { method = "GET" } = request;
    const path = readPath(request);
    const options = { name: `${method} ${path}`, inputs: { method, path }, tags, metadata };
    const callerRun = RunTree.fromHeaders(request.headers, client && { client });
    const run = callerRun?.startChild(options) ?? new RunTree({ ...options, parent: null, client });
    // The event "close" follows "finish", and is also emitted if the client disconnects before the response is
    // complete.
    response.once("close", () => {
      const outputs = { status: response.statusCode, route: readRoute(request) };
      if (!response.writableFinished) {
        run.fail("The client disconnected before the response was complete", outputs);
      } else if (response.statusCode >= 500) {
        run.fail(`The response has status ${response.statusCode}`, outputs);
      } else {
        run.end(outputs);
      }
    });
    withRun(run, next);
  };
}

const readPath = ({ originalUrl, url = "/" }: ServerRequest): string =>
  (originalUrl ?? url).split("?", 1)[0] ?? "/";

/** Returns the pattern of the route, such as `/users/:id`; `undefined` if no route matched. */
function readRoute({ baseUrl = "", route }: ServerRequest): string | undefined {
  const { path } = route ?? {};
  return typeof path === "string" ? `${baseUrl}${path}` : undefined;
}
