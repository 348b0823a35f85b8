import type { RequestOptions } from "node:http";
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import type { Proxy } from "../model/options/proxy.ts";
import { addProxyName, ProxyRefusal } from "./failure.ts";

/** Options of {@link createTunnel}. */
export interface TunnelOptions {
  readonly proxy: Proxy;
  /** The variable or option that set the proxy, for messages. */
  readonly proxySource?: string | undefined;
  /** Milliseconds to wait for the proxy, and then again for the TLS handshake with the server. */
  readonly timeoutMs: number;
  /** PEM text: certificate authorities to trust, also for the proxy. */
  readonly ca?: string;
  /**
   * PEM text: the client certificate. It is presented in the TLS handshake with the server, but not in the one with the
   * proxy.
   */
  readonly cert?: string;
  /** PEM text: the private key of `cert`. */
  readonly key?: string;
}

/**
 * Connects to a server with `CONNECT` through a proxy, and uses TLS inside this tunnel. Undici's implementation is not
 * used, because it waits five minutes for a proxy that does not respond, and reconnects forever if the proxy closes the
 * connection.
 */
export function createTunnel(options: TunnelOptions): buildConnector.connector {
  const { proxy: _proxy, proxySource: _proxySource, timeoutMs: timeout, ...tls } = options;
  const handshake = buildConnector({ ...tls, timeout });
  return (target, callback): void => void connect(target, callback);

  async function connect(
    target: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> {
    try {
      handshake({ ...target, httpSocket: await connectToProxy(options, target) }, callback);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  }
}

function connectToProxy(options: TunnelOptions, target: buildConnector.Options): Promise<Socket> {
  const { proxy, proxySource, timeoutMs, ca } = options;
  const usedProxy = { origin: proxy.origin, source: proxySource };
  const authority = `${target.hostname}:${target.port || "443"}`;
  const init: RequestOptions = {
    method: "CONNECT",
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization }),
    },
  };
  return new Promise((resolve, reject) => {
    const isSecure = proxy.origin.startsWith("https:");
    // These are not imports: in Node 24 importing `node:http` takes 30 ms, because an import also loads the parts of
    // the module that are otherwise loaded on demand.
    const request = isSecure
      ? process
          .getBuiltinModule("node:https")
          .request(proxy.origin, ca === undefined ? init : { ...init, ca })
      : process.getBuiltinModule("node:http").request(proxy.origin, init);
    const timer = setTimeout(() => {
      request.destroy(
        new DOMException(`the proxy did not connect within ${timeoutMs} ms`, "TimeoutError"),
      );
    }, timeoutMs);
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      finish();
    };
    request.once("connect", ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        settle(() => resolve(socket));
      } else {
        socket.destroy();
        settle(() => reject(new ProxyRefusal(statusCode)));
      }
    });
    request.on("error", (error) => settle(() => reject(addProxyName(usedProxy, error))));
    request.end();
  });
}
