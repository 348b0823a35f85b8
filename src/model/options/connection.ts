/** How to reach the server: what the options say, ready to cross to a worker. */
export interface Connection {
  /** Why nothing may be sent: the variable of the endpoint or of the key has a value that can't be used. */
  readonly refusal?: string;
  /** Base address without a slash at its end. */
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly workspaceId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest wait for one answer, the connection included. */
  readonly timeoutMs: number;
  /** Connections, and so requests under way, at once. */
  readonly requestsInFlight: number;
  readonly compression: Compression;
  /** Proxy for http and https endpoints; `noProxy` lists hosts reached without it. */
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
  /** PEM text: authorities to trust, a client certificate and its key. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Path of a unix socket to connect to in place of the endpoint's host. */
  readonly socketPath?: string;
}

/** `auto`: what the server offers, zstd before gzip; nothing to a loopback address. */
export const compressions = ["auto", "zstd", "gzip", "none"] as const;

/** One of {@link compressions}. */
export type Compression = (typeof compressions)[number];

/** Names and addresses that stay on this machine. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  hostname === "::1" ||
  /^127\.\d+\.\d+\.\d+$/.test(hostname);
