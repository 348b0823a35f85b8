import { Agent, EnvHttpProxyAgent } from "undici";
import type { Dispatcher } from "undici";
import type { Connection } from "../model/connection.ts";

/** Longest answer that is read; an ingest answer is a few hundred bytes. */
const answerLimitBytes = 4_194_304;
/** Below the 5 s after which common servers close an idle connection. */
const keepAliveMs = 4_000;

/** The pooled connections of one worker, with every limit said: undici's own are 300 s and none. */
export function createDispatcher(connection: Connection): Dispatcher {
  const { timeoutMs, requestsInFlight, httpProxy, httpsProxy, noProxy } = connection;
  const tls = definedOf({ ca: connection.ca, cert: connection.cert, key: connection.key });
  const options = {
    connections: requestsInFlight,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: 60_000,
    maxResponseSize: answerLimitBytes,
    connect: {
      timeout: timeoutMs,
      ...tls,
      ...definedOf({ socketPath: connection.socketPath }),
    },
  };
  if (httpProxy === undefined && httpsProxy === undefined) {
    return new Agent(options);
  }
  return new EnvHttpProxyAgent({
    ...options,
    // An empty text keeps the environment from being read a second time.
    httpProxy: httpProxy ?? "",
    httpsProxy: httpsProxy ?? "",
    noProxy: noProxy ?? "",
    requestTls: tls,
    proxyTls: tls,
  });
}

const definedOf = (
  values: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
