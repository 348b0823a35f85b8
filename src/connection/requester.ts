import type { Dispatcher } from "undici";
import type { Connection } from "../model/connection.ts";
import type { Endpoint } from "../model/endpoints.ts";
import { version } from "../model/version.ts";
import type { Answer } from "./answer.ts";

export interface HttpRequest extends Pick<Endpoint, "method" | "path"> {
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks one server: address, key and deadline are the same for every request. */
export class Requester {
  readonly #dispatcher: Dispatcher;
  readonly #timeoutMs: number;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(connection: Connection, dispatcher: Dispatcher) {
    const url = new URL(connection.endpoint);
    this.#dispatcher = dispatcher;
    this.#timeoutMs = connection.timeoutMs;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = headersOf(connection);
  }

  /**
   * One request and its whole answer, within `timeoutMs`. Redirects are not followed: the key would
   * go with them. Throws where no answer began; a body that breaks off is left out, its status counts.
   */
  async ask(request: HttpRequest, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const deadline = deadlineOf(this.#timeoutMs, signal);
    let head: Answer | undefined;
    const exchange = async (): Promise<Answer> => {
      const response = await this.#dispatcher.request({
        origin: this.#origin,
        path: this.#basePath + request.path,
        method: request.method,
        headers: { ...this.#headers, ...request.headers },
        body: request.body ?? null,
        signal: controller.signal,
      });
      head = headOf(response);
      return { ...head, body: await response.body.text() };
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
}

interface Deadline {
  /** Never resolves. */
  readonly passed: Promise<never>;
  clear(): void;
}

/** Passes after `timeoutMs`, or when `signal` aborts. */
function deadlineOf(timeoutMs: number, signal: AbortSignal): Deadline {
  const controller = new AbortController();
  const passed = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(new DOMException("the client ended it", "AbortError"));
    const late = (): void =>
      reject(new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError"));
    const timer = setTimeout(late, timeoutMs);
    signal.addEventListener("abort", stop);
    controller.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
  return { passed, clear: () => controller.abort() };
}

function headOf({ statusCode, headers }: Dispatcher.ResponseData): Answer {
  const retryAfter = headers["retry-after"];
  const { location } = headers;
  return {
    status: statusCode,
    ...(retryAfter === undefined ? {} : { retryAfter: String(retryAfter) }),
    ...(location === undefined ? {} : { location: String(location) }),
    body: "",
  };
}

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
