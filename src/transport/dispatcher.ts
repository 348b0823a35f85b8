import { Agent, Pool } from "undici";
import type { Dispatcher } from "undici";
import type { Connection } from "../model/options/connection.ts";
import { chooseProxy, parseProxy } from "../model/options/proxy.ts";
import type { Proxy } from "../model/options/proxy.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import type { Transport } from "./transport.ts";
import { createTunnel } from "./tunnel.ts";

/** Below the 5 s after which common servers close an idle connection. */
const keepAliveMs = 4_000;

/**
 * Pooled connections with explicit limits: undici's defaults are 300 s, and no bound on responses. Of an answer at most
 * `answerLimitBytes` are read. `onConnected` is called for each connection that was made. Whether a proxy is on the way is read from the connection alone, never
 * from the environment.
 */
export function createDispatcher(
  connection: Connection,
  maxResponseBytes: number,
  onConnected: () => void = () => undefined,
): Transport {
  if (!canSend()) {
    return createFetchTransport(connection, maxResponseBytes, onConnected);
  }
  const { timeoutMs, ca, cert, key, socketPath } = connection;
  const tls = definedOf({ ca, cert, key });
  const limits = limitsOf(connection, maxResponseBytes);
  const proxy = parseProxy(chooseProxy(connection) ?? "");
  if (proxy === undefined) {
    const connect = { timeout: timeoutMs, ...tls, ...definedOf({ socketPath }) };
    return new Agent({ ...limits, connect }).on("connect", onConnected);
  }
  if (connection.endpoint.startsWith("https:")) {
    const tunnel = createTunnel({ proxy, timeoutMs, ...tls });
    return new Agent({ ...limits, connect: tunnel }).on("connect", onConnected);
  }
  const connect = { timeout: timeoutMs, ...definedOf({ ca }) };
  const pool = new Pool(proxy.origin, { ...limits, connect }).on("connect", onConnected);
  return pool.compose(toProxy(proxy));
}

/** Whether this is undici itself: a runtime may have put something of that name in its place. */
const canSend = (): boolean => typeof Reflect.get(Agent.prototype, "request") === "function";

const limitsOf = (
  { timeoutMs, requestsInFlight }: Connection,
  maxResponseBytes: number,
): Agent.Options => ({
  // One connection more than runs can use, so that a hanging `/info` delays none of them.
  connections: requestsInFlight + 1,
  pipelining: 1,
  headersTimeout: timeoutMs,
  bodyTimeout: timeoutMs,
  keepAliveTimeout: keepAliveMs,
  keepAliveMaxTimeout: 60_000,
  maxResponseSize: maxResponseBytes,
});

/** Asks a proxy for the whole address: what it connects to with `CONNECT` is mostly TLS only. */
const toProxy =
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

const definedOf = <Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): { readonly [Key in Name]?: string } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    readonly [Key in Name]?: string;
  };
