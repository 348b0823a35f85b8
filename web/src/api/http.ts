import { currentTenantId, reportUnauthorized, readKey } from "./access.ts";
import { reportConnectivity } from "./connectivity.ts";
import { endpointPath } from "./endpoint-path.ts";
import { EventStreamReader } from "./event-stream.ts";
import type { ServerEvent } from "./event-stream.ts";

/** The server answered, and the answer was not 2xx; or it did not answer. */
export class ApiError extends Error {
  /** 0: no answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** The server is there, but did not answer in time: what is asked again costs it the same again. */
export class RequestTimeoutError extends ApiError {
  constructor(options?: ErrorOptions) {
    super(0, `The server did not answer within ${timeoutMs / 1_000} seconds.`, options);
    this.name = "LateError";
  }
}

/** Longest wait for one answer. */
const timeoutMs = 30_000;
/** Longest wait for a file. */
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

/** The text of an answer that is no JSON, such as an export. @throws {@link ApiError} */
export const getText = async (path: string, signal?: AbortSignal): Promise<string> =>
  callText(path, { method: "GET", signal });

/** A file of the server, for a link to save it. @throws {@link ApiError} */
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
 * The events of a `text/event-stream`, until `signal` or the server ends it. Not `EventSource`: that
 * sends no key.
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
    // One after the other: the next comes when it comes.
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
 * Tries a key before it is kept.
 *
 * @throws {@link ApiError} the server does not know it, or does not answer.
 */
export async function verifyKey(key: string): Promise<void> {
  try {
    await callText(endpointPath("/settings"), { method: "GET", key });
  } catch (cause) {
    throw cause instanceof ApiError && cause.status === 401
      ? new ApiError(401, "The server does not know this key.", { cause })
      : cause;
  }
}

interface Call {
  readonly method: Method;
  /** Asks with this key, about its own tenant, instead of as this browser does. */
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

/** The answer, when it is a good one. Without a limit it may take as long as it takes. */
async function send(path: string, call: Call, limit?: AbortSignal): Promise<Response> {
  const { method, body, accept = "application/json", signal } = call;
  const ends = [signal, limit].filter((end) => end !== undefined);
  const init: RequestInit = {
    method,
    signal: AbortSignal.any(ends),
    headers: {
      ...(call.key === undefined ? authHeaders() : { "x-api-key": call.key }),
      accept,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  let response: Response;
  let fault = "";
  try {
    response = await fetch(path, init);
    fault = response.ok ? "" : await response.text();
  } catch (cause) {
    throw toRequestError(cause, { signal, limit });
  }
  reportConnectivity(true);
  if (!response.ok) {
    if (response.status === 401 && call.key === undefined) {
      reportUnauthorized();
    }
    throw new ApiError(response.status, describe(response.status, fault));
  }
  return response;
}

/** Whose rows are asked for, and by whom. */
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

/** Who broke it off knows why; else the server took too long, or is gone. */
function toRequestError(
  cause: unknown,
  ends: { readonly signal?: AbortSignal | undefined; readonly limit?: AbortSignal | undefined },
): unknown {
  if (ends.signal?.aborted === true) {
    return cause;
  }
  if (ends.limit?.aborted === true) {
    return new RequestTimeoutError({ cause });
  }
  reportConnectivity(false);
  return new ApiError(0, "The server does not answer. Is it still running?", { cause });
}

const describe = (status: number, text: string): string => `${status}: ${readDetail(text)}`;

/** The reason that the server gave, else the beginning of what it said. */
function readDetail(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "detail" in value) {
      return typeof value.detail === "string" ? value.detail : JSON.stringify(value.detail);
    }
  } catch {
    // Not JSON: an answer of something between here and the server, shown as it is.
  }
  return text.slice(0, 300);
}
