import { Agent, buildConnector, Pool } from "undici";
import type { Dispatcher } from "undici";
import type { Connection } from "../model/options/connection.ts";
import { chooseProxy, parseProxy } from "../model/options/proxy.ts";
import type { Proxy } from "../model/options/proxy.ts";
import { addProxyName } from "./failure.ts";
import type { UsedProxy } from "./failure.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import { hasNodeSockets } from "./transport.ts";
import type { Transport } from "./transport.ts";
import { createTunnel } from "./tunnel.ts";

/**
 * Milliseconds that an idle connection is kept. Common servers close idle connections after 5 s.
 */
const keepAliveMs = 4_000;

/**
 * Creates pooled connections with explicit limits: undici's default timeouts are 300 s, and it does
 * not limit responses. At most `maxResponseBytes` of a response are read; `Infinity` is no limit.
 * `onConnected` is called for each established connection. Whether a proxy is used is decided from
 * `connection` alone, never from the environment.
 */
export function createDispatcher(
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void = () => undefined,
): Transport {
  if (!hasNodeSockets()) {
    return createFetchTransport(connection, maxResponseBytes, onConnected);
  }
  const { timeoutMs, ca, cert, key, socketPath, proxySource } = connection;
  const tls = omitUndefined({ ca, cert, key });
  const limits = createLimits(connection, maxResponseBytes);
  const proxy = parseProxy(chooseProxy(connection) ?? "");
  if (proxy === undefined) {
    const connectOptions = { timeout: timeoutMs, ...tls, ...omitUndefined({ socketPath }) };
    return new Agent({ ...limits, connect: connectOptions }).on("connect", onConnected);
  }
  if (connection.endpoint.startsWith("https:")) {
    const tunnel = createTunnel({ proxy, proxySource, timeoutMs, ...tls });
    return new Agent({ ...limits, connect: tunnel }).on("connect", onConnected);
  }
  const connect = connectTo(
    { origin: proxy.origin, source: proxySource },
    { timeout: timeoutMs, ...omitUndefined({ ca }) },
  );
  const pool = new Pool(proxy.origin, { ...limits, connect }).on("connect", onConnected);
  return pool.compose(createProxyInterceptor(proxy));
}

const createLimits = (
  { timeoutMs, requestsInFlight }: Connection,
  maxResponseBytes: number,
): Agent.Options => ({
  // Allow one more connection than requests with runs can use, so that a hanging `/info` request does not delay them.
  connections: requestsInFlight + 1,
  pipelining: 1,
  headersTimeout: timeoutMs,
  bodyTimeout: timeoutMs,
  keepAliveTimeout: keepAliveMs,
  keepAliveMaxTimeout: 60_000,
  // undici accepts only whole numbers; -1 is its value for no limit.
  maxResponseSize: Number.isFinite(maxResponseBytes) ? maxResponseBytes : -1,
});

/** Connects to a proxy. If that fails, the error names the proxy. */
function connectTo(
  proxy: UsedProxy,
  options: buildConnector.BuildOptions,
): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) {
        callback(null, socket);
      } else {
        callback(addProxyName(proxy, error), null);
      }
    });
}

/**
 * Requests the full URL from the proxy. This is for plain HTTP: most proxies allow `CONNECT` only
 * for TLS.
 */
const createProxyInterceptor =
  ({ authorization }: Proxy): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(
      {
        ...options,
        path: `${String(options.origin)}${options.path}`,
        headers: {
          ...(options.headers as Readonly<Record<string, string>>),
          host: new URL(String(options.origin)).host,
          ...(authorization === undefined ? {} : { "proxy-authorization": authorization }),
        },
      },
      handler,
    );

const omitUndefined = <Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): { readonly [Key in Name]?: string } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    readonly [Key in Name]?: string;
  };
