import { Readable } from "node:stream";
import type { Connection } from "../model/options/connection.ts";
import { chooseProxy } from "../model/options/proxy.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** What Bun's `fetch` takes beyond the standard. */
interface BunRequestInit extends RequestInit {
  readonly duplex?: "half";
  readonly proxy?: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly unix?: string;
}

interface Limits {
  readonly maxResponseBytes: number;
  readonly timeoutMs: number;
}

/**
 * Requests by `fetch`, for Bun, whose own `undici` takes the place of ours and can't send by itself. Connections are the
 * runtime's; proxies, certificates and unix sockets are passed in Bun's way.
 */
export function createFetchTransport(
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void,
): Transport {
  const ends = new AbortController();
  const extras = extrasOf(connection);
  const limits = { maxResponseBytes, timeoutMs: connection.timeoutMs };
  return {
    async request(request) {
      // When it connects can't be seen: a request that has not failed counts as connected.
      onConnected();
      return answered(await send(request, extras, ends.signal), limits);
    },
    destroy() {
      ends.abort(new DOMException("the client was closed", "AbortError"));
      return Promise.resolve();
    },
  };
}

function send(
  { origin, path, method, headers, body, signal }: TransportRequest,
  extras: BunRequestInit,
  ended: AbortSignal,
): Promise<Response> {
  const init: BunRequestInit = {
    ...extras,
    method,
    headers: { ...headers },
    redirect: "manual",
    signal: AbortSignal.any([signal, ended]),
  };
  // Looked up at the call: tools that replace it come later than the import.
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

/** @throws TypeError this runtime's `fetch` can't do what the options ask for. */
function extrasOf(connection: Connection): BunRequestInit {
  const { ca, cert, key, socketPath } = connection;
  const proxy = chooseProxy(connection);
  const tls = definedOf({ ca, cert, key });
  const extras = {
    ...(proxy === undefined ? {} : { proxy }),
    ...(socketPath === undefined ? {} : { unix: socketPath }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
  if (Object.keys(extras).length > 0 && !("Bun" in globalThis)) {
    throw new TypeError(
      "This runtime's fetch takes no proxy, certificate or unix socket; use Node, or leave out the options httpProxy, httpsProxy, ca, cert, key and socketPath",
    );
  }
  return extras;
}

function answered(response: Response, limits: Limits): TransportResponse {
  const chunks = (): AsyncGenerator<Uint8Array, void> => read(response, limits);
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: {
      [Symbol.asyncIterator]: chunks,
      async text() {
        const parts: Uint8Array[] = [];
        for await (const chunk of chunks()) {
          parts.push(chunk);
        }
        return Buffer.concat(parts).toString();
      },
    },
  };
}

/** Each chunk comes within `timeoutMs`, and all of them are no more than `answerLimitBytes`. */
async function* read(
  { body }: Response,
  { maxResponseBytes, timeoutMs }: Limits,
): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const part = await within(timeoutMs, reader?.read());
      if (part === undefined || part.done) {
        return;
      }
      const chunk = part.value as Uint8Array;
      bytes += chunk.length;
      if (bytes > maxResponseBytes) {
        const code = "UND_ERR_RES_EXCEEDED_MAX_SIZE";
        throw Object.assign(new Error(`more than ${maxResponseBytes} bytes came`), { code });
      }
      yield chunk;
    }
  } finally {
    // What is not read any more is not to be sent any more.
    await reader?.cancel().catch(() => undefined);
  }
}

async function within<T>(timeoutMs: number, wait: Promise<T> | undefined): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(new DOMException(`no more of the answer within ${timeoutMs} ms`, "TimeoutError")),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([wait, late]);
  } finally {
    clearTimeout(timer);
  }
}

const definedOf = <Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): { readonly [Key in Name]?: string } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    readonly [Key in Name]?: string;
  };
