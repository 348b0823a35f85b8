import { Writable } from "node:stream";
import { currentRun, flush, OptionError, RunTree, traceable, withRun } from "../../main/index.ts";
import type {
  HeadersLike,
  KeyValues,
  TraceableFunction,
  TraceableOptions,
} from "../../main/index.ts";

/** Options of {@link traceHandler}. */
export interface TraceHandlerOptions extends Pick<
  TraceableOptions,
  "client" | "tags" | "metadata"
> {
  /** @defaultValue method and path of an HTTP request, else the name of the Lambda function */
  readonly name?: string | undefined;
  /**
   * Converts an event that is not an HTTP request into an object that may be recorded. If it throws, or does not return
   * an object, a marker is recorded in place of the event.
   */
  readonly processInputs?: TraceableOptions["processInputs"];
  /** Like `processInputs`, but for the response to such an event. */
  readonly processOutputs?: TraceableOptions["processOutputs"];
  /**
   * Longest wait for the delivery of records before the response is returned, in milliseconds. The wait is shorter if
   * the invocation has less time left. Records that were not delivered in time are sent during the next invocation.
   *
   * @defaultValue 2000
   */
  readonly flushTimeoutMs?: number | undefined;
}

type InvocationOptions = TraceHandlerOptions & { readonly flushTimeoutMs: number };

const defaultFlushTimeoutMs = 2_000;
/**
 * Milliseconds before the end of an invocation at which a flush must end, so that the response can still be returned.
 */
const responseReserveMs = 100;

/**
 * Wraps the handler of an AWS Lambda function so that each invocation is recorded as a run, and everything that was
 * recorded is delivered before the response is returned, because Lambda freezes the process right after that. The
 * handler may return a promise, take a callback, or write to a response stream. Responses and errors are passed on
 * unchanged. Runs that are started inside the handler are descendants of the invocation's run.
 *
 * For an HTTP request (API Gateway, load balancer, function URL) the run is a child of the caller's run if the headers
 * name one. Its inputs are the method and the path, without the query, and its outputs are the status and the route; a
 * status of 500 or higher fails it. For any other event, the inputs are the event and the outputs are the response.
 *
 * @throws `OptionError` if `flushTimeoutMs` is not a number of milliseconds.
 */
export function traceHandler<Handler extends TraceableFunction>(
  handler: Handler,
  options: TraceHandlerOptions = {},
): Handler {
  const { flushTimeoutMs = defaultFlushTimeoutMs } = options;
  if (!Number.isFinite(flushTimeoutMs) || flushTimeoutMs < 0) {
    throw new OptionError(
      `traceHandler: flushTimeoutMs must be a number of milliseconds, 0 or greater, but is ${String(flushTimeoutMs)}`,
    );
  }
  if (tracedHandlers.has(handler)) {
    return handler;
  }
  // A proxy, unlike a wrapper function, also has the property by which the runtime recognizes a handler that streams
  // its response.
  const tracedHandler = new Proxy(handler, {
    apply: (target, self, args: readonly unknown[]): unknown => {
      const callHandler: CallHandler = (handlerArgs) =>
        Reflect.apply(target, self, handlerArgs as never[]);
      return new Invocation(args, { ...options, flushTimeoutMs }).run(callHandler);
    },
  });
  tracedHandlers.add(tracedHandler);
  return tracedHandler;
}

const tracedHandlers = new WeakSet<TraceableFunction>();

type CallHandler = (args: readonly unknown[]) => unknown;

/** One invocation of a handler, from the event to the response. */
class Invocation {
  /** The handler's arguments: event, context and callback, or event, response stream and context. */
  readonly #args: readonly unknown[];
  readonly #options: InvocationOptions;
  readonly #context: LambdaContext | undefined;

  constructor(args: readonly unknown[], options: InvocationOptions) {
    this.#args = args;
    this.#options = options;
    this.#context = args.find(isContext);
  }

  /**
   * Calls the handler. Returns the value for the runtime: a promise of the response, or `undefined` if the handler
   * responds through its callback.
   */
  run(callHandler: CallHandler): unknown {
    const [, , callback] = this.#args;
    if (typeof callback !== "function") {
      return this.#flushAfter(async () => {
        const response = await callHandler(this.#args);
        await this.#waitForStream();
        return response;
      });
    }
    let isCallbackUsed = false;
    const response = this.#flushAfter(
      () =>
        new Promise((resolve, reject) => {
          const respondByCallback = (error?: unknown, value?: unknown): void => {
            if (error === undefined || error === null) {
              resolve(value);
            } else {
              // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the handler may pass any value
              reject(error);
            }
          };
          const returned = callHandler(this.#args.with(2, respondByCallback));
          isCallbackUsed = returned === undefined;
          if (isThenable(returned)) {
            // `resolve(returned)` would ignore a later call of the callback. The handler may use both, and the first
            // response counts.
            returned.then(resolve, reject);
          } else if (!isCallbackUsed) {
            resolve(returned);
          }
        }),
    );
    if (!isCallbackUsed) {
      return response;
    }
    const passOn = (...callbackArguments: readonly unknown[]): unknown =>
      Reflect.apply(callback, undefined, callbackArguments);
    void response.then((value) => passOn(null, value), passOn);
    return undefined;
  }

  /** Calls `respond` within the invocation's run, flushes, and then returns the response. */
  async #flushAfter(respond: () => Promise<unknown>): Promise<unknown> {
    try {
      return await this.#record(respond);
    } finally {
      await flush({ timeoutMs: this.#computeFlushTimeout() });
    }
  }

  #record(respond: () => Promise<unknown>): Promise<unknown> {
    const [event] = this.#args;
    const request = readHttpRequest(event);
    const { client, tags, metadata, name } = this.#options;
    const { functionName, awsRequestId } = this.#context ?? {};
    const options = {
      client,
      tags,
      metadata: { ...metadata, ...(awsRequestId === undefined ? {} : { awsRequestId }) },
    };
    if (request === undefined) {
      const { processInputs = removeToken, processOutputs } = this.#options;
      const payloads = { processInputs, processOutputs };
      const traced = traceable((_event: unknown) => respond(), {
        ...options,
        ...payloads,
        name: name ?? (typeof functionName === "string" ? functionName : "handler"),
      });
      return traced(event);
    }
    const { method, path, headers } = request;
    const traced = traceable(
      async () => {
        const response = await respond();
        endRun(currentRun(), request, response);
        return response;
      },
      {
        ...options,
        name: name ?? `${method} ${path}`,
        processInputs: () => ({ method, path }),
      },
    );
    const caller = RunTree.fromHeaders(headers, client && { client });
    return caller === undefined ? traced() : withRun(caller, traced);
  }

  /**
   * If the handler has a response stream, waits until the stream has ended, because the invocation lasts until then.
   */
  async #waitForStream(): Promise<void> {
    const [, stream] = this.#args;
    if (stream instanceof Writable && !stream.writableFinished && !stream.destroyed) {
      // `finished()` is not used, because it would add a listener for "error" and so hide the error from the runtime.
      await new Promise<void>((resolve) => {
        stream.once("finish", resolve);
        stream.once("close", resolve);
      });
    }
  }

  #computeFlushTimeout(): number {
    const { flushTimeoutMs } = this.#options;
    const remainingMs = this.#readRemainingTime() ?? Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(flushTimeoutMs, remainingMs - responseReserveMs));
  }

  /** Returns the milliseconds until Lambda ends the invocation; `undefined` outside of Lambda. */
  #readRemainingTime(): number | undefined {
    const remainingMs = this.#context?.getRemainingTimeInMillis();
    return Number.isFinite(remainingMs) ? remainingMs : undefined;
  }
}

/** The part of AWS's context object that is used here. */
interface LambdaContext {
  readonly functionName?: unknown;
  readonly awsRequestId?: unknown;
  getRemainingTimeInMillis(): number;
}

/** An HTTP request that an AWS service received and passes on as an event. */
interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** The pattern of the route, such as `/users/{id}`; `undefined` if the service has no routes. */
  readonly route: string | undefined;
  readonly headers: HeadersLike;
}

/**
 * Returns the request if the event has the format of API Gateway (REST, HTTP and WebSocket APIs, and their
 * authorizers), of a load balancer, or of a function URL; `undefined` for any other event.
 */
function readHttpRequest(event: unknown): HttpRequest | undefined {
  if (!isObject(event)) {
    return undefined;
  }
  const { headers, multiValueHeaders, requestContext, httpMethod, path, rawPath, resource } = event;
  const requestHeaders = [headers, multiValueHeaders].find(isHeaders) ?? {};
  const context = isObject(requestContext) ? requestContext : {};
  const { http, eventType } = context;
  // A function URL has the route key "$default" for each request.
  const routeKey = [event["routeKey"], context["routeKey"]].find(isText);
  const route = routeKey === "$default" ? undefined : routeKey?.replace(/^[A-Z]+ /, "");
  if (isObject(http) && isText(http["method"]) && isText(rawPath)) {
    return { method: http["method"], path: rawPath, route, headers: requestHeaders };
  }
  if (isText(httpMethod) && isText(path)) {
    const pattern = isText(resource) ? resource : undefined;
    return { method: httpMethod, path, route: pattern, headers: requestHeaders };
  }
  if (isText(eventType) && routeKey !== undefined) {
    return { method: eventType, path: routeKey, route, headers: requestHeaders };
  }
  return undefined;
}

/** Ends the run of an HTTP request, before `traceable` would end it with the whole response. */
function endRun(run: RunTree | undefined, { route }: HttpRequest, response: unknown): void {
  const { statusCode } = isObject(response) ? response : {};
  // AWS treats a response without a status as a body with status 200. A stream contains its status in its first bytes.
  const status = statusCode ?? (response === undefined ? undefined : 200);
  if (Number(status) >= 500) {
    run?.fail(`The response has status ${Number(status)}`, { status, route });
  } else {
    run?.end({ status, route });
  }
}

/** Removes the secret from the event of a token authorizer, a function that checks tokens for API Gateway. */
const removeToken = ({ authorizationToken: _, ...inputs }: KeyValues): KeyValues => inputs;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const isHeaders = (value: unknown): value is HeadersLike => isObject(value);

const isText = (value: unknown): value is string => typeof value === "string";

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  isObject(value) && typeof value["then"] === "function";

const isContext = (value: unknown): value is LambdaContext =>
  isObject(value) && typeof value["getRemainingTimeInMillis"] === "function";
