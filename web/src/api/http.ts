import { readTenantId, reportUnauthorized, readKey } from "./access.ts";
import { reportConnectivity } from "./connectivity.ts";
import { toEndpointPath } from "./endpoint-path.ts";
import { readPersonName } from "./person-name.ts";
import { EventStreamReader } from "./event-stream.ts";
import type { ServerEvent } from "./event-stream.ts";
import { JsonLineReader } from "./json-lines.ts";
import { basePath } from "./base-path.ts";

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

/** The maximum time to wait for a response. */
const timeoutMs = 30_000;
/** The maximum time that a file download may take. */
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

/** Returns the body of a response as text. @throws {@link ApiError} */
export const getText = async (path: string, signal?: AbortSignal): Promise<string> =>
  callText(path, { method: "GET", signal });

/** Downloads a file. @throws {@link ApiError} */
export async function getBlob(path: string, signal?: AbortSignal): Promise<Blob> {
  const deadline = AbortSignal.timeout(fileTimeoutMs);
  const response = await send(path, { method: "GET", signal }, deadline);
  try {
    return await response.blob();
  } catch (cause) {
    throw toRequestError(cause, { signal, deadline });
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
  call: Pick<Call, "method" | "body" | "headers"> = { method: "GET" },
): AsyncGenerator<ServerEvent, void, undefined> {
  const init = { ...call, signal, accept: "text/event-stream" };
  const reader = new EventStreamReader();
  for await (const chunk of readChunks(await send(path, init), { signal })) {
    yield* reader.read(chunk);
  }
}

/**
 * Reads the lines of a response in JSON Lines, each as soon as it has arrived.
 *
 * @throws {@link ApiError}
 */
export async function* streamJsonLines(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const deadline = AbortSignal.timeout(fileTimeoutMs);
  const init = { method: "GET", signal, accept: "application/x-ndjson" } as const;
  const response = await send(path, init, deadline);
  const reader = new JsonLineReader();
  for await (const chunk of readChunks(response, { signal, deadline })) {
    yield* reader.read(chunk);
  }
  if (reader.isWithinLine) {
    throw new ApiError(0, "The response of the server ended too early. Try again.");
  }
}

async function* readChunks(
  response: Response,
  signals: { readonly signal: AbortSignal; readonly deadline?: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      // Read one chunk after the other, because a stream can't be read in parallel.
      const chunk = await reader?.read();
      if (chunk?.value === undefined) {
        return;
      }
      yield chunk.value;
    }
  } catch (cause) {
    throw toRequestError(cause, signals);
  } finally {
    // If the caller stops reading, the server need not send the remaining response.
    reader?.cancel().catch(() => undefined);
  }
}

/**
 * Checks a key before it is stored.
 *
 * @throws {@link ApiError} the server rejects the key, or does not respond.
 */
export async function verifyKey(key: string): Promise<void> {
  try {
    await callText(toEndpointPath("/settings"), { method: "GET", key });
  } catch (cause) {
    throw cause instanceof ApiError && cause.status === 401
      ? new ApiError(401, "Invalid API key.", { cause })
      : cause;
  }
}

interface Call {
  readonly method: Method;
  /** Headers in addition to those of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** An API key that is sent instead of the stored key and tenant. */
  readonly key?: string;
  readonly body?: unknown;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Sends any request with a JSON response. @throws {@link ApiError} */
export async function callJson(path: string, call: Call): Promise<unknown> {
  return parseBody(await callText(path, call));
}

async function callText(path: string, call: Call): Promise<string> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const response = await send(path, call, deadline);
  try {
    return await response.text();
  } catch (cause) {
    throw toRequestError(cause, { signal: call.signal, deadline });
  }
}

/** Sends a request and returns its 2xx response; throws for any other. `deadline` aborts it after a time limit. */
async function send(path: string, call: Call, deadline?: AbortSignal): Promise<Response> {
  const { method, body, accept = "application/json", signal } = call;
  const signals = [signal, deadline].filter((candidate) => candidate !== undefined);
  const init: RequestInit = {
    method,
    signal: AbortSignal.any(signals),
    headers: {
      ...(call.key === undefined ? createAuthHeaders() : { "x-api-key": call.key }),
      accept,
      ...call.headers,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  let response: Response;
  let errorBody = "";
  try {
    response = await fetch(basePath + path, init);
    errorBody = response.ok ? "" : await response.text();
  } catch (cause) {
    throw toRequestError(cause, { signal, deadline });
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

/** Returns the request headers with the API key, the tenant id and the person's name. */
function createAuthHeaders(): Record<string, string> {
  const key = readKey();
  const tenantId = readTenantId();
  const name = readPersonName();
  return {
    ...(key === undefined ? {} : { "x-api-key": key }),
    ...(tenantId === undefined ? {} : { "x-tenant-id": tenantId }),
    // The name is percent-encoded, because a header must not contain characters beyond Latin-1.
    ...(name === undefined ? {} : { "x-millrace-author": encodeURIComponent(name) }),
  };
}

function parseBody(text: string): unknown {
  const value: unknown = text === "" ? undefined : JSON.parse(text);
  return value;
}

/** Returns the error to throw for a request without a response: aborted by the caller, timed out, or not connected. */
function toRequestError(
  cause: unknown,
  signals: {
    readonly signal?: AbortSignal | undefined;
    readonly deadline?: AbortSignal | undefined;
  },
): unknown {
  if (signals.signal?.aborted === true) {
    return cause;
  }
  if (signals.deadline?.aborted === true) {
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
    // The body is not JSON: a proxy between browser and server may have sent it. The UI then shows its text.
  }
  return text.slice(0, 300);
}
