import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { KeyValues } from "millrace/model";
import { sendRequest } from "../../local-server/send-request.ts";
import type { ServerResponse } from "../../local-server/send-request.ts";
import type { Settings } from "../../local-server/settings.ts";
import { toText } from "../model/json-values.ts";

/** Thrown if data can't be read from the source. The message contains the request, its failure and what to do. */
export class SourceError extends Error {
  /** The status of the response; absent if there was none. */
  readonly status: number | undefined;

  constructor(message: string, { status, cause }: { status?: number; cause?: unknown } = {}) {
    super(message, { cause });
    this.status = status;
  }
}

/** Thrown if a response is larger than the limit. A smaller page may fit. */
export class ResponseTooLarge extends SourceError {}

/**
 * Reads the id and the name of a row.
 *
 * @param kind - the kind of the row, such as `dataset`, for the message.
 * @throws {@link SourceError} if one of them is missing.
 */
export function readIdAndName(
  row: KeyValues,
  kind: string,
): { readonly id: string; readonly name: string } {
  const [id, name] = [toText(row["id"]), toText(row["name"])];
  if (id === undefined || name === undefined) {
    throw new SourceError(`a ${kind} in the response has no id or no name`);
  }
  return { id, name };
}

/** Limits for the requests to the source. */
export interface SourceLimits {
  /** Longest wait for one response, in milliseconds. */
  readonly timeoutMs: number;
  /** Largest response, in bytes. */
  readonly maxBytes: number;
  /** The import ends if all requests fail for this time, in milliseconds. */
  readonly patienceMs: number;
  /**
   * Until the server has responded once, this limit replaces `patienceMs` and also limits `timeoutMs`, in milliseconds.
   * It is shorter, because the address may be wrong.
   */
  readonly firstPatienceMs: number;
  /** Wait before the first retry, in milliseconds. It doubles each time. */
  readonly firstWaitMs: number;
  /** Longest wait before a retry, in milliseconds, unless the server requests a longer wait. */
  readonly maxWaitMs: number;
  /** Longest wait that a server may request with `Retry-After`, in milliseconds. */
  readonly maxRetryAfterMs: number;
}

const defaultSourceLimits: SourceLimits = {
  timeoutMs: 120_000,
  maxBytes: 67_108_864,
  patienceMs: 300_000,
  firstPatienceMs: 10_000,
  firstWaitMs: 500,
  maxWaitMs: 30_000,
  maxRetryAfterMs: 900_000,
};

/** Options of a {@link SourceClient}. */
export interface SourceClientInit {
  /** The name of the product, for messages. */
  readonly product: string;
  /** The base URL of the API. */
  readonly url: URL;
  /** The headers that contain the key. They are sent to this server only. */
  readonly headers: Readonly<Record<string, string>>;
  /** Secret texts, which are removed from all messages. */
  readonly secrets: readonly string[];
  /** The environment variables with the key, for messages. */
  readonly keyVariables: string;
  readonly proxies: Pick<Settings, "httpProxy" | "httpsProxy" | "noProxy">;
  readonly signal: AbortSignal;
  /** Called with the reason before each wait. */
  readonly onWait: (reason: string) => void;
  /**
   * @defaultValue among others: two minutes for one response of at most 64 MiB, five minutes of failures, and 15
   * minutes of `Retry-After`
   */
  readonly limits?: Partial<SourceLimits>;
}

/** The values of query parameters. A list is sent as a repeated parameter; `undefined` is left out. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
}

const unzip = promisify(gunzip);
const maxRedirects = 3;

/** Statuses of temporary failures, after which a request is sent again. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Reads from the API of the source. After a temporary failure, a request is sent again; if the response contains
 * `Retry-After`, then after that time. The key is sent only to this server: a redirect to another server is refused.
 */
export class SourceClient {
  readonly #init: SourceClientInit;
  readonly #limits: SourceLimits;
  readonly #agent: http.Agent;
  /** Whether the server has sent a response, of any status. */
  #hasResponded = false;

  constructor(init: SourceClientInit) {
    this.#init = init;
    // Keep connections open, because an import sends many requests one after another. Idle connections don't keep the
    // process alive.
    this.#agent = new (init.url.protocol === "https:" ? https : http).Agent({ keepAlive: true });
    this.#limits = { ...defaultSourceLimits, ...init.limits };
  }

  /** The address of the server, for messages. */
  get address(): string {
    const { origin, pathname } = this.#init.url;
    return origin + pathname.replace(/\/+$/, "");
  }

  /** Reads JSON. */
  get(path: string, query?: Query): Promise<unknown> {
    return this.#callJson({ method: "GET", path, ...(query === undefined ? {} : { query }) });
  }

  /** Sends a query as JSON and reads the JSON of the response. */
  post(path: string, body: unknown): Promise<unknown> {
    return this.#callJson({ method: "POST", path, body });
  }

  /** Reads JSON; returns `undefined` if the server has no such path or resource. */
  async find(path: string, query?: Query): Promise<unknown> {
    try {
      return await this.get(path, query);
    } catch (error) {
      if (error instanceof SourceError && error.status === 404) {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * Downloads a file from a signed URL, which may be on another server. The key is not sent.
   *
   * @throws {@link SourceError} if the file can't be downloaded. The message does not contain the signature of the URL.
   */
  async download(address: string, maxBytes: number): Promise<Buffer> {
    const action = "download a file";
    let url = this.#parseDownloadUrl(address, this.#init.url);
    for (let redirects = 0; ; redirects += 1) {
      const currentUrl = url;
      const response = await this.#retry(`${action} from ${currentUrl.origin}`, () =>
        this.#send(currentUrl, { method: "GET", headers: {}, maxBytes }),
      );
      const { location } = response.headers;
      if (isRedirect(response.status) && location !== undefined && redirects < maxRedirects) {
        url = this.#parseDownloadUrl(location, currentUrl);
        continue;
      }
      if (response.status !== 200) {
        throw new SourceError(
          `can't ${action} from ${currentUrl.origin}: it responded with ${response.status}`,
          { status: response.status },
        );
      }
      if (response.isTruncated) {
        throw new ResponseTooLarge(
          `can't ${action} from ${currentUrl.origin}: it is larger than ${formatBytes(maxBytes)}`,
        );
      }
      return response.content;
    }
  }

  #parseDownloadUrl(address: string, base: URL): URL {
    const url = URL.canParse(address, base.href) ? new URL(address, base) : undefined;
    if (url === undefined || !isHttp(url)) {
      throw new SourceError("can't download a file: its address is not an http or https URL");
    }
    return url;
  }

  async #callJson(call: Call): Promise<unknown> {
    const { product } = this.#init;
    const { maxBytes } = this.#limits;
    const request = `${call.method} ${call.path}`;
    const response = await this.#retry(request, () => this.#followRedirects(call));
    const { status } = response;
    if (status < 200 || status >= 300) {
      throw this.#explainStatus(request, response);
    }
    const bytes = await this.#decode(response, request);
    try {
      const json: unknown = JSON.parse(bytes.toString());
      return json;
    } catch (cause) {
      throw new SourceError(
        bytes.length > maxBytes
          ? `the response to ${request} is larger than ${formatBytes(maxBytes)}`
          : `${this.address} is not the API of a ${product} server: its response to ${request} is not JSON. Check --from-url`,
        { cause },
      );
    }
  }

  /** Returns the uncompressed body. */
  async #decode(
    { content, isTruncated, headers }: ServerResponse,
    request: string,
  ): Promise<Buffer> {
    const { maxBytes } = this.#limits;
    const tooLarge = new ResponseTooLarge(
      `the response of ${this.address} to ${request} is larger than ${formatBytes(maxBytes)}`,
    );
    if (isTruncated) {
      throw tooLarge;
    }
    if (headers["content-encoding"] !== "gzip") {
      return content;
    }
    try {
      return await unzip(content, { maxOutputLength: maxBytes });
    } catch (cause) {
      throw cause instanceof RangeError
        ? tooLarge
        : new SourceError(`the response of ${this.address} to ${request} is damaged`, { cause });
    }
  }

  /** Sends a request, and follows redirects within the server, such as one that adds a slash to the path. */
  async #followRedirects({ method, path, query = {}, body }: Call): Promise<ServerResponse> {
    const { url: base, headers } = this.#init;
    let url = createUrl(base, path, query);
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#send(url, {
        method,
        headers: { ...headers, accept: "application/json", "accept-encoding": "gzip" },
        body,
        maxBytes: this.#limits.maxBytes,
      });
      const { location } = response.headers;
      if (!isRedirect(response.status) || location === undefined) {
        return response;
      }
      const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (target === undefined || target.origin !== url.origin) {
        throw new SourceError(
          `${this.address} redirects to ${target?.origin ?? "an invalid address"}. The key is not sent there; if that is the server, pass its address with --from-url`,
        );
      }
      if (redirects === maxRedirects || (method === "POST" && response.status < 307)) {
        throw new SourceError(
          `${this.address} redirects ${method} ${path} ${redirects === maxRedirects ? "too often" : "without its body"}. Check --from-url`,
        );
      }
      url = target;
    }
  }

  /** Longest wait for the next response, in milliseconds. */
  get #timeoutMs(): number {
    const { timeoutMs, firstPatienceMs } = this.#limits;
    return this.#hasResponded ? timeoutMs : Math.min(timeoutMs, firstPatienceMs);
  }

  #send(
    url: URL,
    request: {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: unknown;
      readonly maxBytes: number;
    },
  ): Promise<ServerResponse> {
    const { proxies, signal, url: base } = this.#init;
    const { maxBytes, ...init } = request;
    const endpoint = { value: url.origin, source: "--from-url" };
    return sendRequest({ endpoint, ...proxies }, url.pathname + url.search, {
      ...init,
      ...(url.origin === base.origin ? { agent: this.#agent } : {}),
      signal,
      timeoutMs: this.#timeoutMs,
      maxBodyBytes: maxBytes,
    });
  }

  /** Sends a request again after temporary failures. Returns the first response that is not a temporary failure. */
  async #retry(action: string, send: () => Promise<ServerResponse>): Promise<ServerResponse> {
    const { signal, onWait } = this.#init;
    const { patienceMs, firstPatienceMs, firstWaitMs, maxWaitMs, maxRetryAfterMs } = this.#limits;
    // Waits that the server requested are not counted, because the server is reachable.
    let failingMs = 0;
    for (let attempt = 0; ; attempt += 1) {
      const startedAt = performance.now();
      let reason: string;
      let retryAfterMs: number | undefined;
      try {
        const response = await send();
        this.#hasResponded = true;
        if (!temporaryStatuses.has(response.status)) {
          return response;
        }
        reason = `it responded with ${response.status}`;
        retryAfterMs = readRetryAfter(response.headers["retry-after"]);
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof SourceError) {
          throw cause;
        }
        reason = this.#describe(cause);
      }
      failingMs += performance.now() - startedAt;
      const waitMs = retryAfterMs ?? Math.min(maxWaitMs, firstWaitMs * 2 ** attempt);
      failingMs += retryAfterMs === undefined ? waitMs : 0;
      if (!this.#hasResponded && failingMs > Math.min(patienceMs, firstPatienceMs)) {
        throw new SourceError(
          `no response from ${this.address}: ${reason}. Check that --from-url is the address of the server, that the server runs there, and the network`,
        );
      }
      if (failingMs > patienceMs || waitMs > maxRetryAfterMs) {
        throw new SourceError(
          `no usable response from ${this.address} to ${action}: ${reason}${waitMs > maxRetryAfterMs ? ` and asks to wait for ${Math.round(waitMs / 1_000)} s` : ""}. Check --from-url and the network`,
        );
      }
      onWait(`${action}: ${reason}; waiting for ${Math.ceil(waitMs / 1_000)} s`);
      await sleep(waitMs, undefined, { signal }).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw cause;
      });
    }
  }

  #explainStatus(request: string, response: ServerResponse): SourceError {
    const { status } = response;
    const { product, keyVariables, secrets } = this.#init;
    if (status === 401 || status === 403) {
      return new SourceError(
        `${this.address} ${secrets.length === 0 ? "asks for a key" : "refused the key"} (${status}). Set ${keyVariables} to a key of this ${product} server that may read`,
        { status },
      );
    }
    const text = this.#hideSecrets(response.body).slice(0, maxQuotedLength);
    // As JSON, the text can't move the terminal's cursor.
    return new SourceError(
      `${this.address} responded to ${request} with ${status}: ${JSON.stringify(text)}`,
      { status },
    );
  }

  #describe(cause: unknown): string {
    const { name, message, code } = cause as Partial<Record<"name" | "message" | "code", unknown>>;
    if (name === "AbortError" || name === "TimeoutError") {
      return `no response within ${this.#timeoutMs / 1_000} s`;
    }
    const texts = [code, message].filter((text) => typeof text === "string" && text !== "");
    return this.#hideSecrets(texts.join(" ")).slice(0, maxQuotedLength);
  }

  #hideSecrets(text: string): string {
    return this.#init.secrets.reduce(
      (redactedText, secret) => redactedText.replaceAll(secret, "***"),
      text,
    );
  }
}

const maxQuotedLength = 200;

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Whether a URL has the scheme http or https. */
export const isHttp = ({ protocol }: URL): boolean => protocol === "http:" || protocol === "https:";

function createUrl(base: URL, path: string, query: Query): URL {
  const url = new URL(base.href.replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? (value as readonly string[]) : [value]) {
      if (item !== undefined) {
        url.searchParams.append(name, String(item));
      }
    }
  }
  return url;
}

/**
 * Parses a `Retry-After` header: a number of seconds, or a date. Returns milliseconds; `undefined` if the header is
 * neither.
 */
function readRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "") {
    return undefined;
  }
  const seconds = Number(header);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : undefined;
}

const formatBytes = (bytes: number): string =>
  bytes < 1_048_576 ? `${bytes} bytes` : `${Math.floor(bytes / 1_048_576)} MiB`;
