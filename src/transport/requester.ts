import { Readable } from "node:stream";
import { reservedHeaders } from "../model/options/connection.ts";
import type { Connection } from "../model/options/connection.ts";
import type { Endpoint } from "../model/endpoints.ts";
import { OptionError } from "../model/errors.ts";
import { version } from "../model/version.ts";
import { isOk, readErrorBody } from "./response.ts";
import type { HttpResponse, StreamedResponse } from "./response.ts";
import { reportProgress } from "./transport.ts";
import type { StreamedBody, Transport, TransportResponse } from "./transport.ts";

/** A request to one server. The requester adds the base URL, the API key and the timeout. */
export interface HttpRequest extends Pick<Endpoint, "method" | "path"> {
  readonly body?: Uint8Array | StreamedBody;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests to one server, all with the same address, API key and timeout. */
export class Requester {
  readonly #dispatcher: Transport;
  readonly #timeoutMs: number;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];

  /** @throws {@link OptionError} if the options do not allow sending to this server. */
  constructor(connection: Connection, dispatcher: Transport) {
    if (connection.sendingProblem !== undefined) {
      throw new OptionError(connection.sendingProblem);
    }
    const url = new URL(connection.endpoint);
    this.#dispatcher = dispatcher;
    this.#timeoutMs = connection.timeoutMs;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = createHeaders(connection);
    this.#secrets = collectSecrets(connection);
  }

  /**
   * Replaces the API key and other secrets in a text from the server, because the server may repeat what it received.
   */
  hideSecrets(text: string): string {
    return this.#secrets.reduce((result, secret) => result.replaceAll(secret, "[hidden]"), text);
  }

  /**
   * Sends a request and reads the whole response within `timeoutMs`. If the request has a streamed body, `timeoutMs`
   * applies to each chunk of the body, and then to the response. Redirects are not followed, because the API key would
   * be sent to the new address. Throws if no response began. If the body of a response breaks off, the response is
   * returned without its body, because the status is known.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return this.#sendAndRead(request, signal, async (head, body) => {
      const text = await body.text();
      return { ...head, body: isOk(head.status) ? text : this.hideSecrets(text) };
    });
  }

  /**
   * Like {@link Requester.request}, but returns the body of a 2xx response as chunks, because it
   * may be large. Only the beginning of an error response is read.
   */
  requestBytes(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return this.#sendAndRead(request, signal, async (head, body) => {
      if (!isOk(head.status)) {
        return { ...head, body: this.hideSecrets(await readErrorBody(body)) };
      }
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) {
        chunks.push(chunk);
      }
      return { ...head, chunks };
    });
  }

  async #sendAndRead(
    request: HttpRequest,
    signal: AbortSignal,
    read: (head: HttpResponse, body: TransportResponse["body"]) => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const deadline = createDeadline(this.#timeoutMs, signal);
    let head: HttpResponse | undefined;
    const sendAndRead = async (): Promise<HttpResponse> => {
      const response = await this.#send(request, controller.signal, deadline);
      head = this.#createHead(response);
      return read(head, response.body);
    };
    try {
      // The deadline is needed in addition to the signal, because undici ignores the signal until
      // there is a connection.
      return await Promise.race([sendAndRead(), deadline.expired]);
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
   * Sends a request and waits at most `timeoutMs` for the response to begin. The response's body is then read as a
   * stream, each chunk within `timeoutMs`. Otherwise like {@link Requester.request}. The caller must read or cancel the
   * body.
   */
  async open(request: HttpRequest, signal: AbortSignal): Promise<StreamedResponse> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const deadline = createDeadline(this.#timeoutMs, signal);
    const endSignal = AbortSignal.any([signal, controller.signal]);
    try {
      const response = await Promise.race([
        this.#send(request, endSignal, deadline),
        deadline.expired,
      ]);
      return { head: this.#createHead(response), chunks: response.body };
    } catch (error) {
      controller.abort(error);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  #createHead({ statusCode, headers }: TransportResponse): HttpResponse {
    const retryAfter = headers["retry-after"];
    const { location } = headers;
    return {
      status: statusCode,
      ...(retryAfter === undefined ? {} : { retryAfter: String(retryAfter) }),
      ...(location === undefined ? {} : { location: this.hideSecrets(String(location)) }),
      body: "",
    };
  }

  #send(
    { method, path, headers, body }: HttpRequest,
    signal: AbortSignal,
    deadline: Deadline,
  ): Promise<TransportResponse> {
    const request = { origin: this.#origin, path: joinPath(this.#basePath, path), method, signal };
    const allHeaders = { ...this.#headers, ...headers };
    if (body === undefined || body instanceof Uint8Array) {
      return this.#dispatcher.request({ ...request, headers: allHeaders, body: body ?? null });
    }
    const { sizeBytes } = body;
    return this.#dispatcher.request({
      ...request,
      headers:
        sizeBytes === undefined
          ? allHeaders
          : { ...allHeaders, "content-length": String(sizeBytes) },
      body: Readable.from(
        reportProgress(body.open(), () => deadline.restart()),
        { objectMode: false },
      ),
      // `deadline` limits the wait instead: undici's timeout does not account for a request body that is read slowly.
      headersTimeout: 0,
    });
  }
}

/**
 * Joins the base path and the path. If both contain a version, such as `/v1`, it appears once. If both are empty, the
 * result is the root.
 */
const joinPath = (base: string, path: string): string =>
  (base.endsWith("/v1") && path.startsWith("/v1/") ? base + path.slice(3) : base + path) || "/";

/** A time limit that can be extended and cleared. */
interface Deadline {
  /** Rejects when the deadline passes. Never resolves. */
  readonly expired: Promise<never>;
  restart(): void;
  clear(): void;
}

/** Creates a deadline that passes after `timeoutMs`, or when `signal` aborts. */
function createDeadline(timeoutMs: number, signal: AbortSignal): Deadline {
  const timeoutController = new AbortController();
  const abortAfterTimeout = (): void =>
    timeoutController.abort(new DOMException(`no response within ${timeoutMs} ms`, "TimeoutError"));
  const abortByCaller = (): void =>
    timeoutController.abort(
      new DOMException("the request was aborted by its caller", "AbortError"),
    );
  const timer = setTimeout(abortAfterTimeout, timeoutMs);
  signal.addEventListener("abort", abortByCaller);
  return {
    expired: new Promise<never>((_resolve, reject) => {
      timeoutController.signal.addEventListener("abort", () =>
        reject(timeoutController.signal.reason as DOMException),
      );
    }),
    restart: () => timer.refresh(),
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abortByCaller);
    },
  };
}

/**
 * Minimum length of a secret that is removed from texts. A shorter value protects nothing and could
 * match any text.
 */
const minSecretLength = 8;

/** Returns the secrets: the API key and the values of the extra headers, which may be tokens. */
const collectSecrets = ({ apiKey = "", headers = {} }: Connection): readonly string[] =>
  [apiKey, ...Object.values(headers)].filter(({ length }) => length >= minSecretLength);

function createHeaders(connection: Connection): Readonly<Record<string, string>> {
  const extra = Object.entries(connection.headers ?? {})
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => !reservedHeaders.has(name));
  return {
    ...Object.fromEntries(extra),
    "user-agent": `millrace/${version}`,
    accept: "application/json",
    ...(connection.apiKey === undefined ? {} : { "x-api-key": connection.apiKey }),
    ...(connection.workspaceId === undefined ? {} : { "x-tenant-id": connection.workspaceId }),
  };
}
