import { currentTenantId, reportUnauthorized, readKey } from "./access.ts";
import { reportConnectivity } from "./connectivity.ts";
import { endpointPath } from "./endpoint-path.ts";
import { EventStreamReader } from "./event-stream.ts";
import type { ServerEvent } from "./event-stream.ts";

/** The server responded with a status other than 2xx, or did not respond. */
export class ApiError extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** No response within the deadline. The server may be busy, so repeating the request at once would add to its load. */
export class RequestTimeoutError extends ApiError {
  constructor(options?: ErrorOptions) {
    super(0, `The server did not respond within ${timeoutMs / 1_000} seconds.`, options);
    this.name = "RequestTimeoutError";
  }
}

/** The longest wait for one response. */
const timeoutMs = 30_000;
/** The longest wait for a file download. */
const fileTimeoutMs = 120_000;

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** @throws {@link ApiError} */
export const getJson = async (path: string, signal?: AbortSignal): Promise<unknown> =>
  callJson(path, { method: "GET", signal });

/** @throws {@link ApiError} */
export const postJson = async (
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<unknown> => callJson(path, { method: "POST", body, signal });

/** @throws {@link ApiError} */
export const patchJson = async (
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<unknown> => callJson(path, { method: "PATCH", body, signal });

/** @throws {@link ApiError} */
export const putJson = async (
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<unknown> => callJson(path, { method: "PUT", body, signal });

/** @throws {@link ApiError} */
export const deleteJson = async (
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<unknown> => callJson(path, { method: "DELETE", body, signal });

/** The body of a response that is not JSON, such as an export. @throws {@link ApiError} */
export const getText = async (path: string, signal?: AbortSignal): Promise<string> =>
  callText(path, { method: "GET", signal });

/** Downloads a file. @throws {@link ApiError} */
export async function getBlob(path: string, signal?: AbortSignal): Promise<Blob> {
  const limit = AbortSignal.timeout(fileTimeoutMs);
  const response = await send(path, { method: "GET", signal }, limit);
  try {
    return await response.blob();
  } catch (cause) {
    throw toRequestError(cause, { signal, limit });
  }
}

/**
 * Reads the events of a `text/event-stream` until `signal` aborts or the server ends the stream. It does not
 * use `EventSource`, which can't send the key as a header.
 *
 * @throws {@link ApiError}
 */
export async function* streamEvents(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent, void, undefined> {
  const init = { method: "GET", signal, accept: "text/event-stream" } as const;
  const response = await send(path, init);
  const reader = new EventStreamReader();
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    // Chunks of one stream can only be read in sequence.
    const next = await readNext(chunks, signal);
    if (next === undefined) {
      return;
    }
    yield* reader.read(next);
  }
}

async function readNext(
  chunks: ReadableStreamDefaultReader<string> | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await chunks?.read())?.value;
  } catch (cause) {
    throw toRequestError(cause, { signal });
  }
}

/**
 * Checks a key before it is stored.
 *
 * @throws {@link ApiError} the server rejects the key, or does not respond.
 */
export async function verifyKey(key: string): Promise<void> {
  try {
    await callText(endpointPath("/settings"), { method: "GET", key });
  } catch (cause) {
    throw cause instanceof ApiError && cause.status === 401
      ? new ApiError(401, "Invalid API key.", { cause })
      : cause;
  }
}

interface Call {
  readonly method: Method;
  /** Sent instead of the stored key and tenant. */
  readonly key?: string;
  readonly body?: unknown;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

async function callJson(path: string, call: Call): Promise<unknown> {
  return parseBody(await callText(path, call));
}

async function callText(path: string, call: Call): Promise<string> {
  const limit = AbortSignal.timeout(timeoutMs);
  const response = await send(path, call, limit);
  try {
    return await response.text();
  } catch (cause) {
    throw toRequestError(cause, { signal: call.signal, limit });
  }
}

/** Sends a request and returns its 2xx response; throws for any other. `limit` is the deadline, if there is one. */
async function send(path: string, call: Call, limit?: AbortSignal): Promise<Response> {
  const { method, body, accept = "application/json", signal } = call;
  const signals = [signal, limit].filter((candidate) => candidate !== undefined);
  const init: RequestInit = {
    method,
    signal: AbortSignal.any(signals),
    headers: {
      ...(call.key === undefined ? authHeaders() : { "x-api-key": call.key }),
      accept,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  let response: Response;
  let errorBody = "";
  try {
    response = await fetch(path, init);
    errorBody = response.ok ? "" : await response.text();
  } catch (cause) {
    throw toRequestError(cause, { signal, limit });
  }
  reportConnectivity(true);
  if (!response.ok) {
    if (response.status === 401 && call.key === undefined) {
      reportUnauthorized();
    }
    throw new ApiError(response.status, describeError(response.status, errorBody));
  }
  return response;
}

/** The headers that name the key and the tenant. */
function authHeaders(): Record<string, string> {
  const key = readKey();
  const tenantId = currentTenantId();
  return {
    ...(key === undefined ? {} : { "x-api-key": key }),
    ...(tenantId === undefined ? {} : { "x-tenant-id": tenantId }),
  };
}

function parseBody(text: string): unknown {
  const value: unknown = text === "" ? undefined : JSON.parse(text);
  return value;
}

/** The error of a request without a response: the caller aborted it, the deadline passed, or the connection failed. */
function toRequestError(
  cause: unknown,
  signals: { readonly signal?: AbortSignal | undefined; readonly limit?: AbortSignal | undefined },
): unknown {
  if (signals.signal?.aborted === true) {
    return cause;
  }
  if (signals.limit?.aborted === true) {
    return new RequestTimeoutError({ cause });
  }
  reportConnectivity(false);
  return new ApiError(0, "The server is not responding. Check that it is running.", { cause });
}

const describeError = (status: number, text: string): string => `${status}: ${readDetail(text)}`;

/** The `detail` of an error response, else the beginning of its body. */
function readDetail(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "detail" in value) {
      return typeof value.detail === "string" ? value.detail : JSON.stringify(value.detail);
    }
  } catch {
    // Not JSON: perhaps a proxy between the browser and the server responded. Show its text.
  }
  return text.slice(0, 300);
}
