import type { ServerResponse } from "node:http";
import { flush, RunTree, withRun } from "../main/index.ts";
import type { FlushResult, HeadersLike, NewRunOptions, TimeLimit } from "../main/index.ts";

/** Options for recording the requests of a web framework. */
export type TraceRequestsOptions = Pick<NewRunOptions, "client" | "tags" | "metadata">;

/** The data of a request that a framework provides when the request arrives. */
interface IncomingRequest {
  readonly method: string;
  /** The requested URL or path. Its query is not recorded, because it may contain secrets. */
  readonly url: string;
  readonly headers: HeadersLike;
}

/** The data of a request that a framework provides when the response ends. */
export interface RequestOutputs {
  readonly status: number;
  /** The pattern of the route that responded, such as `/users/:id`; `undefined` if no route matched. */
  readonly route: string | undefined;
}

/**
 * The runs of the requests that one application serves. Each framework's integration reports to it when a request
 * arrives and how its response ends.
 */
export class RequestRuns {
  readonly #options: TraceRequestsOptions;
  readonly #openRuns = new Set<RequestRun>();

  constructor({ client, tags, metadata }: TraceRequestsOptions) {
    this.#options = { client, tags, metadata };
  }

  /**
   * Starts the run of a request: as a child of the run that the headers name, or as the root of a new trace. `request`
   * is the framework's object for the request. Returns `undefined` if the request has a run already, because the
   * integration was added to the application twice.
   */
  start(request: object, { method, url, headers }: IncomingRequest): RequestRun | undefined {
    if (runsByRequest.has(request)) {
      return undefined;
    }
    const { client, tags, metadata } = this.#options;
    const path = url.split("?", 1)[0] ?? "/";
    const options = { name: `${method} ${path}`, inputs: { method, path }, tags, metadata };
    const callerRun = RunTree.fromHeaders(headers, client && { client });
    const run = callerRun?.startChild(options) ?? new RunTree({ ...options, parent: null, client });
    const requestRun = new RequestRun(run, (ended) => this.#openRuns.delete(ended));
    this.#openRuns.add(requestRun);
    runsByRequest.set(request, requestRun);
    return requestRun;
  }

  /**
   * Ends as failed the runs of requests whose responses are incomplete because the server was closed. Then flushes all
   * clients of the process.
   */
  flush(limit?: TimeLimit): Promise<FlushResult> {
    for (const requestRun of this.#openRuns) {
      requestRun.abort("The server was closed before the response was complete");
    }
    return flush(limit);
  }
}

/** Returns the run of a request; `undefined` if it is not recorded. */
export const findRequestRun = (request: object): RequestRun | undefined =>
  runsByRequest.get(request);

const runsByRequest = new WeakMap<object, RequestRun>();

/**
 * The run of one request. States: open, then ended by the first call of `end` or `abort`; later calls have no effect.
 */
export class RequestRun {
  readonly #run: RunTree;
  readonly #onEnd: (ended: RequestRun) => void;
  #thrown: { readonly error: unknown } | undefined;

  constructor(run: RunTree, onEnd: (ended: RequestRun) => void) {
    this.#run = run;
    this.#onEnd = onEnd;
  }

  /** Calls `fn` with the run as the current run. */
  enter<Result>(fn: () => Result): Result {
    return withRun(this.#run, fn);
  }

  /**
   * Stores an error that a handler threw, so that the run ends as failed. An error with a status below 500, such as the
   * error for an invalid request, counts as a response and is not stored.
   */
  rememberError(error: unknown): void {
    if (!isResponseBelow500(error)) {
      this.#thrown ??= { error };
    }
  }

  /** Ends the run with a complete response. Fails it if the status is 500 or higher, or a handler threw. */
  end(outputs: RequestOutputs): void {
    if (this.#thrown !== undefined) {
      this.#run.fail(this.#thrown.error, outputs);
    } else if (outputs.status >= 500) {
      this.#run.fail(`The response has status ${outputs.status}`, outputs);
    } else {
      this.#run.end(outputs);
    }
    this.#onEnd(this);
  }

  /**
   * Ends the run as failed, because the response is incomplete: with the error that a handler threw, or else with this
   * reason.
   */
  abort(reason: string, outputs?: RequestOutputs): void {
    this.#run.fail(this.#thrown === undefined ? reason : this.#thrown.error, outputs);
    this.#onEnd(this);
  }
}

/** Error message of a run whose client disconnected before the whole response was sent. */
export const disconnectMessage = "The client disconnected before the response was complete";

/**
 * Ends a run when a response of Node's HTTP server has been sent completely, or when its connection is closed before
 * that.
 */
export function endWithResponse(
  requestRun: RequestRun,
  response: ServerResponse,
  readRoute: () => string | undefined,
): void {
  let isFinished = response.writableFinished;
  const onClose = (): void => {
    const outputs = { status: response.statusCode, route: readRoute() };
    if (isFinished) {
      requestRun.end(outputs);
    } else {
      requestRun.abort(disconnectMessage, outputs);
    }
  };
  if (response.closed) {
    onClose();
    return;
  }
  // The event "close" follows "finish", and is also emitted if the client disconnects before the response is complete.
  // The event "finish" distinguishes the two cases, also for the simulated responses of `inject()` in the tests of an
  // application.
  response.once("finish", () => {
    isFinished = true;
  });
  response.once("close", onClose);
}

/** Whether an error has a status below 500. Frameworks convert such errors to responses. */
function isResponseBelow500(error: unknown): boolean {
  if (typeof error !== "object" || error === null) {
    return false;
  }
  try {
    const status: unknown = Reflect.get(error, "status") ?? Reflect.get(error, "statusCode");
    return typeof status === "number" && status < 500;
  } catch {
    // A getter of the error threw. The error counts as a failure.
    return false;
  }
}
