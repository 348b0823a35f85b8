/** How to connect to the server, derived from the options. Can be passed to a worker. */
export interface Connection {
  /**
   * Why nothing may be sent: an environment variable that determines the server, the proxy or the credentials is
   * invalid. Absent if sending is allowed.
   */
  readonly sendingProblem?: string;
  /** Base URL without a trailing slash. */
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly workspaceId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds to wait for one response, including the time to connect. */
  readonly timeoutMs: number;
  /** Maximum number of requests in flight. Each uses its own connection. */
  readonly requestsInFlight: number;
  readonly compression: Compression;
  /** Proxies for an http endpoint and for an https endpoint; `noProxy` lists hosts that are reached without a proxy. */
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
  /** What set the proxy of the endpoint, for messages: a variable such as `HTTP_PROXY`, or an option. */
  readonly proxySource?: string;
  /** As PEM text: certificate authorities to trust, a client certificate and its private key. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Path of a Unix socket to connect to instead of the endpoint's host. */
  readonly socketPath?: string;
}

/**
 * `auto` uses what the server supports, zstd before gzip, and no compression for loopback
 * addresses.
 */
export const compressions = ["auto", "zstd", "gzip", "none"] as const;

/** One of {@link compressions}. */
export type Compression = (typeof compressions)[number];

/** Whether a host name refers to this machine. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  hostname === "::1" ||
  /^127\.\d+\.\d+\.\d+$/.test(hostname);

/** Headers that this package or the HTTP client sets. The option `headers` can't replace them. */
export const reservedHeaders: ReadonlySet<string> = new Set([
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
