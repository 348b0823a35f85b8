import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import tls from "node:tls";
import { chooseProxy, parseProxy } from "millrace/model";
import type { Settings } from "./settings.ts";

/** The parts of a server's response that the commands use. */
export interface ServerResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** The bytes of the body. */
  readonly content: Buffer;
  /** Whether the body is longer than the limit, so that its end is missing. */
  readonly isTruncated: boolean;
  /** Time at which the response headers arrived, in milliseconds since the Unix epoch. */
  readonly respondedAtMs: number;
}

const requestTimeoutMs = 5_000;
const defaultMaxBodyBytes = 4_194_304;

/** Options of {@link sendRequest}. */
export interface RequestInit {
  /** @defaultValue "GET" */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** @defaultValue 5,000 */
  readonly timeoutMs?: number;
  /** How much of the response body is read. @defaultValue 4 MiB */
  readonly maxBodyBytes?: number;
  /** Aborts the request before its timeout. */
  readonly signal?: AbortSignal;
  /** Keeps connections for later requests; not used through a proxy. @defaultValue a new connection */
  readonly agent?: http.Agent;
}

/**
 * Sends a request for a path below the endpoint, through the same proxy, socket and certificates as a client.
 *
 * @throws {@link ProxyError} if the proxy could not be reached, or refused the connection.
 */
export async function sendRequest(
  settings: Settings,
  path: string,
  init: RequestInit = {},
): Promise<ServerResponse> {
  try {
    return await sendOnce(settings, path, init);
  } catch (cause) {
    throw toProxyError(settings, cause) ?? cause;
  }
}

/**
 * The proxy could not be reached, or refused the connection. The message names the proxy and the variable it is from.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** What to do about it. */
  readonly todo: string;

  constructor(
    message: string,
    { cause, todo }: { readonly cause: unknown; readonly todo: string },
  ) {
    super(message, { cause });
    this.todo = todo;
  }
}

/**
 * Codes of errors that occur before a connection is established. If a proxy is used, the connection to the proxy is the
 * only one that this process establishes.
 */
const connectCodes = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "ETIMEDOUT",
]);

/** Returns the error of the proxy that made a request fail; `undefined` if the proxy is not the reason. */
function toProxyError(settings: Settings, cause: unknown): ProxyError | undefined {
  const proxy = resolveProxy(settings);
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (proxy === undefined || !(cause instanceof Error)) {
    return undefined;
  }
  const { endpoint, httpProxy, httpsProxy, noProxy } = settings;
  const { protocol, hostname } = new URL(endpoint.value);
  const source = (protocol === "https:" ? httpsProxy : httpProxy)?.source ?? "HTTP_PROXY";
  const proxyText = `the proxy ${proxy.origin} (from ${source})`;
  const todo = `Check ${source}, or list the server's host in ${noProxy?.source ?? "NO_PROXY"}: ${hostname}`;
  if (cause instanceof ProxyRefusal) {
    return new ProxyError(`${proxyText} responded with ${cause.status}`, { cause, todo });
  }
  return connectCodes.has(code)
    ? new ProxyError(`${proxyText} can't be reached: ${code}`, { cause, todo })
    : undefined;
}

/** A proxy responded and opened no tunnel. */
class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the proxy responded with ${status}`);
    this.status = status;
  }
}

async function sendOnce(
  settings: Settings,
  path: string,
  {
    method = "GET",
    headers = {},
    body,
    timeoutMs = requestTimeoutMs,
    maxBodyBytes = defaultMaxBodyBytes,
    signal: callerSignal,
    agent: callerAgent,
  }: RequestInit,
): Promise<ServerResponse> {
  const timeoutSignal = AbortSignal.timeout(timeoutMs);
  const signal =
    callerSignal === undefined ? timeoutSignal : AbortSignal.any([timeoutSignal, callerSignal]);
  const bodyText = body === undefined ? undefined : JSON.stringify(body);
  const url = new URL(settings.endpoint.value.replace(/\/+$/, "") + path);
  const socketPath = settings.socketPath?.value;
  const proxy = resolveProxy(settings);
  const tlsOptions = toTlsOptions(settings);
  const agent = false as const;
  const bodyHeaders: Readonly<Record<string, string>> =
    bodyText === undefined
      ? {}
      : {
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(bodyText)),
        };
  const commonOptions = {
    method,
    headers: { ...headers, ...bodyHeaders, host: url.host },
    signal,
    agent,
  };
  if (proxy === undefined) {
    const send = url.protocol === "https:" ? https.request : http.request;
    const socketOptions = socketPath === undefined ? {} : { socketPath };
    return readResponse(
      send(url, {
        ...commonOptions,
        ...tlsOptions,
        ...socketOptions,
        ...(callerAgent === undefined ? {} : { agent: callerAgent }),
      }),
      bodyText,
      maxBodyBytes,
    );
  }
  const authorizationHeaders =
    proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization };
  const proxyUrl = new URL(proxy.origin);
  if (url.protocol === "http:") {
    const proxiedOptions = {
      ...commonOptions,
      headers: { ...commonOptions.headers, ...authorizationHeaders },
    };
    const send = proxyUrl.protocol === "https:" ? https.request : http.request;
    return readResponse(
      send(proxyUrl, { ...proxiedOptions, path: url.href }),
      bodyText,
      maxBodyBytes,
    );
  }
  const socket = await openTunnel(url, proxyUrl, { headers: authorizationHeaders, signal });
  const secureSocket = tls.connect({ socket, servername: url.hostname, ...tlsOptions });
  try {
    await once(secureSocket, "secureConnect", { signal });
    // Any agent, including `false`, would resolve the host name itself and bypass the proxy.
    const { agent: _agent, ...otherOptions } = commonOptions;
    return await readResponse(
      https.request(url, { ...otherOptions, createConnection: () => secureSocket }),
      bodyText,
      maxBodyBytes,
    );
  } finally {
    // An open socket would keep the process alive.
    secureSocket.destroy();
  }
}

/** Chooses the proxy for the endpoint by the same rules as a client. Returns `undefined` if none is used. */
export const resolveProxy = (settings: Settings): ReturnType<typeof parseProxy> =>
  parseProxy(findProxyText(settings) ?? "");

/** Whether the settings name a proxy for the endpoint, even if its address is malformed. */
export const isProxyChosen = (settings: Settings): boolean => findProxyText(settings) !== undefined;

const findProxyText = ({
  endpoint,
  httpProxy,
  httpsProxy,
  noProxy,
  socketPath,
}: Settings): string | undefined =>
  chooseProxy({
    endpoint: endpoint.value,
    httpProxy: httpProxy?.value,
    httpsProxy: httpsProxy?.value,
    noProxy: noProxy?.value,
    socketPath: socketPath?.value,
  });

/** Converts the certificates and the private key from environment variables to TLS options. */
export const toTlsOptions = ({ ca, cert, key }: Settings): tls.SecureContextOptions => ({
  ...(ca === undefined ? {} : { ca: ca.value }),
  ...(cert === undefined ? {} : { cert: cert.value }),
  ...(key === undefined ? {} : { key: key.value }),
});

async function openTunnel(
  { hostname, port }: URL,
  proxyUrl: URL,
  init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Socket> {
  const send = proxyUrl.protocol === "https:" ? https.request : http.request;
  const path = `${hostname}:${port === "" ? "443" : port}`;
  const request = send(proxyUrl, { ...init, method: "CONNECT", path });
  request.end();
  const [response, socket] = (await once(request, "connect", { signal: init.signal })) as [
    http.IncomingMessage,
    Socket,
  ];
  if (response.statusCode !== 200) {
    socket.destroy();
    throw new ProxyRefusal(response.statusCode ?? 0);
  }
  return socket;
}

async function readResponse(
  request: http.ClientRequest,
  bodyText: string | undefined,
  maxBodyBytes: number,
): Promise<ServerResponse> {
  request.end(bodyText);
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const respondedAtMs = Date.now();
  const chunks: Buffer[] = [];
  let receivedBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    receivedBytes += chunk.length;
    if (receivedBytes > maxBodyBytes) {
      break;
    }
  }
  if (receivedBytes > maxBodyBytes) {
    request.destroy();
  }
  const { statusCode: status = 0, headers } = response;
  const content = Buffer.concat(chunks);
  return {
    status,
    headers,
    get body() {
      return content.toString();
    },
    content,
    isTruncated: receivedBytes > maxBodyBytes,
    respondedAtMs,
  };
}
