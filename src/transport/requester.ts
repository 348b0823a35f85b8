import { Readable } from "node:stream";
import type { Connection } from "../model/options/connection.ts";
import type { Endpoint } from "../model/endpoints.ts";
import { OptionError } from "../model/errors.ts";
import { version } from "../model/version.ts";
import { isOk, readRefusal } from "./response.ts";
import type { HttpResponse, StreamedResponse } from "./response.ts";
import { watched } from "./transport.ts";
import type { StreamedBody, Transport, TransportResponse } from "./transport.ts";

export interface HttpRequest extends Pick<Endpoint, "method" | "path"> {
  readonly body?: Uint8Array | StreamedBody;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks one server: address, key and deadline are the same for every request. */
export class Requester {
  readonly #dispatcher: Transport;
  readonly #timeoutMs: number;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];

  /** @throws {@link OptionError} nothing may be sent over this connection. */
  constructor(connection: Connection, dispatcher: Transport) {
    if (connection.refusal !== undefined) {
      throw new OptionError(connection.refusal);
    }
    const url = new URL(connection.endpoint);
    this.#dispatcher = dispatcher;
    this.#timeoutMs = connection.timeoutMs;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = headersOf(connection);
    this.#secrets = secretsOf(connection);
  }

  /** A text of the server's, for people to read: without the key, which some servers repeat. */
  conceal(text: string): string {
    return this.#secrets.reduce((shown, secret) => shown.replaceAll(secret, "[hidden]"), text);
  }

  /**
   * One request and its whole answer, within `timeoutMs`; a streamed body has `timeoutMs` for each of
   * its chunks, and for the answer from its end on. Redirects are not followed: the key would go with
   * them. Throws where no answer began; a body that breaks off is left out, its status counts.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return this.#exchange(request, signal, async (head, body) => {
      const text = await body.text();
      return { ...head, body: isOk(head.status) ? text : this.conceal(text) };
    });
  }

  /** As {@link Requester.request}, what was asked for as bytes, which may be many; of a refusal the beginning. */
  requestBytes(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return this.#exchange(request, signal, async (head, body) => {
      if (!isOk(head.status)) {
        return { ...head, body: this.conceal(await readRefusal(body)) };
      }
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) {
        chunks.push(chunk);
      }
      return { ...head, chunks };
    });
  }

  async #exchange(
    request: HttpRequest,
    signal: AbortSignal,
    read: (head: HttpResponse, body: TransportResponse["body"]) => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const deadline = deadlineOf(this.#timeoutMs, signal);
    let head: HttpResponse | undefined;
    const exchange = async (): Promise<HttpResponse> => {
      const response = await this.#send(request, controller.signal, deadline);
      head = this.#headOf(response);
      return read(head, response.body);
    };
    try {
      // Beside the signal, as undici does not look at it before there is a connection.
      return await Promise.race([exchange(), deadline.passed]);
    } catch (error) {
      controller.abort(error);
      if (head === undefined) {
        throw error;
      }
      return { ...head, bodyFailure: error };
    } finally {
      deadline.clear();
    }
  }

  /**
   * One request, and the beginning of its answer within `timeoutMs`; the rest is read as it comes, each
   * chunk within `timeoutMs`. Otherwise as {@link Requester.request}. The body must be read, or left.
   */
  async open(request: HttpRequest, signal: AbortSignal): Promise<StreamedResponse> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const deadline = deadlineOf(this.#timeoutMs, signal);
    const ends = AbortSignal.any([signal, controller.signal]);
    try {
      const response = await Promise.race([this.#send(request, ends, deadline), deadline.passed]);
      return { head: this.#headOf(response), chunks: response.body };
    } catch (error) {
      controller.abort(error);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  #headOf({ statusCode, headers }: TransportResponse): HttpResponse {
    const retryAfter = headers["retry-after"];
    const { location } = headers;
    return {
      status: statusCode,
      ...(retryAfter === undefined ? {} : { retryAfter: String(retryAfter) }),
      ...(location === undefined ? {} : { location: this.conceal(String(location)) }),
      body: "",
    };
  }

  #send(
    { method, path, headers, body }: HttpRequest,
    signal: AbortSignal,
    deadline: Deadline,
  ): Promise<TransportResponse> {
    const request = { origin: this.#origin, path: below(this.#basePath, path), method, signal };
    const sent = { ...this.#headers, ...headers };
    if (body === undefined || body instanceof Uint8Array) {
      return this.#dispatcher.request({ ...request, headers: sent, body: body ?? null });
    }
    const { sizeBytes } = body;
    return this.#dispatcher.request({
      ...request,
      headers: sizeBytes === undefined ? sent : { ...sent, "content-length": String(sizeBytes) },
      body: Readable.from(
        watched(body.open(), () => deadline.restart()),
        { objectMode: false },
      ),
      // The deadline is ours: undici's does not see how slowly a body is read.
      headersTimeout: 0,
    });
  }
}

/** Where both the path and the base address end in a version, such as `/v1`, it is written once. */
const below = (base: string, path: string): string =>
  base.endsWith("/v1") && path.startsWith("/v1/") ? base + path.slice(3) : base + path;

interface Deadline {
  /** Never resolves. */
  readonly passed: Promise<never>;
  restart(): void;
  clear(): void;
}

/** Passes after `timeoutMs`, or when `signal` aborts. */
function deadlineOf(timeoutMs: number, signal: AbortSignal): Deadline {
  const timing = new AbortController();
  const late = (): void =>
    timing.abort(new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError"));
  const stop = (): void =>
    timing.abort(new DOMException("the request was ended by its caller", "AbortError"));
  const timer = setTimeout(late, timeoutMs);
  signal.addEventListener("abort", stop);
  return {
    passed: new Promise<never>((_resolve, reject) => {
      timing.signal.addEventListener("abort", () => reject(timing.signal.reason as DOMException));
    }),
    restart: () => timer.refresh(),
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}

/** What is shorter keeps nothing safe, and may be a part of any text. */
const shortestSecret = 8;

/** What proves who is asking: the key, and extra headers, which may be tokens. */
const secretsOf = ({ apiKey = "", headers = {} }: Connection): readonly string[] =>
  [apiKey, ...Object.values(headers)].filter(({ length }) => length >= shortestSecret);

/** Set by us, or by HTTP itself: not among the extra headers, however they are written. */
const reserved = new Set([
  "accept",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "x-api-key",
]);

function headersOf(connection: Connection): Readonly<Record<string, string>> {
  const extra = Object.entries(connection.headers ?? {})
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => !reserved.has(name));
  return {
    ...Object.fromEntries(extra),
    "user-agent": `millrace/${version}`,
    accept: "application/json",
    ...(connection.apiKey === undefined ? {} : { "x-api-key": connection.apiKey }),
    ...(connection.workspaceId === undefined ? {} : { "x-tenant-id": connection.workspaceId }),
  };
}
