import { Readable } from "node:stream";
import type { Connection } from "../model/options/connection.ts";
import { chooseProxy } from "../model/options/proxy.ts";
import { createTooLargeError, toTransportBody } from "./transport.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** The standard options of `fetch`, and further ones that Bun's `fetch` accepts. */
interface BunRequestInit extends RequestInit {
  readonly duplex?: "half";
  readonly proxy?: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly unix?: string;
  readonly [ownRequestKey]?: true;
}

/**
 * Marks the requests of this package, so that code that records the calls of `fetch` or replaces it can ignore them.
 */
const ownRequestKey = Symbol.for("millrace.ownRequest");

/** A response whose body exceeds one of these limits is an error. */
interface ResponseLimits {
  readonly maxResponseBytes: number;
  readonly timeoutMs: number;
}

/**
 * Sends requests with `fetch`. This is for Bun, which replaces the package `undici` with an
 * implementation that can't send requests. The runtime manages the connections; proxies,
 * certificates and Unix sockets are passed as Bun's options.
 */
export function createFetchTransport(
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void,
): Transport {
  const closing = new AbortController();
  const fetchOptions = createFetchOptions(connection);
  const limits = { maxResponseBytes, timeoutMs: connection.timeoutMs };
  return {
    async request(request) {
      // `fetch` does not report when a connection is established, so each request counts as connected from its start.
      onConnected();
      return toTransportResponse(await send(request, fetchOptions, closing.signal), limits);
    },
    destroy() {
      closing.abort(new DOMException("the client was closed", "AbortError"));
      return Promise.resolve();
    },
  };
}

function send(
  { origin, path, method, headers, body, signal }: TransportRequest,
  fetchOptions: BunRequestInit,
  closedSignal: AbortSignal,
): Promise<Response> {
  const init: BunRequestInit = {
    ...fetchOptions,
    [ownRequestKey]: true,
    method,
    headers: { ...headers },
    redirect: "manual",
    signal: AbortSignal.any([signal, closedSignal]),
  };
  // `fetch` is looked up at each call, because tools may replace `fetch` after this module was imported.
  if (body === null) {
    return globalThis.fetch(origin + path, init);
  }
  if (body instanceof Readable) {
    const stream = Readable.toWeb(body) as ReadableStream<Uint8Array>;
    return globalThis.fetch(origin + path, {
      ...init,
      body: stream,
      duplex: "half",
    });
  }
  return globalThis.fetch(origin + path, { ...init, body: body as Uint8Array<ArrayBuffer> });
}

/** @throws TypeError if this runtime's `fetch` does not support the options. */
function createFetchOptions(connection: Connection): BunRequestInit {
  const { ca, cert, key, socketPath } = connection;
  const proxy = chooseProxy(connection);
  const tls = omitUndefined({ ca, cert, key });
  const fetchOptions = {
    ...(proxy === undefined ? {} : { proxy }),
    ...(socketPath === undefined ? {} : { unix: socketPath }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
  if (Object.keys(fetchOptions).length > 0 && !("Bun" in globalThis)) {
    throw new TypeError(
      "This runtime's fetch supports no proxy, certificate or Unix socket; use Node, or remove the options httpProxy, httpsProxy, ca, cert, key and socketPath",
    );
  }
  return fetchOptions;
}

function toTransportResponse(response: Response, limits: ResponseLimits): TransportResponse {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: toTransportBody(() => readBody(response, limits)),
  };
}

/**
 * Reads a body. Each chunk must arrive within `timeoutMs`, and all chunks together must not exceed
 * `maxResponseBytes`.
 */
async function* readBody(
  { body }: Response,
  { maxResponseBytes, timeoutMs }: ResponseLimits,
): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const readResult = await withTimeout(timeoutMs, reader?.read());
      if (readResult === undefined || readResult.done) {
        return;
      }
      const chunk = readResult.value as Uint8Array;
      bytes += chunk.length;
      if (bytes > maxResponseBytes) {
        throw createTooLargeError(maxResponseBytes);
      }
      yield chunk;
    }
  } finally {
    // Stop the server from sending the part of the body that was not read.
    await reader?.cancel().catch(() => undefined);
  }
}

async function withTimeout<T>(
  timeoutMs: number,
  wait: Promise<T> | undefined,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new DOMException(
            `no further data of the response within ${timeoutMs} ms`,
            "TimeoutError",
          ),
        ),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([wait, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

const omitUndefined = <Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): { readonly [Key in Name]?: string } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    readonly [Key in Name]?: string;
  };
