import { request as httpRequest } from "node:http";
import type { RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import type { Proxy } from "../model/options/proxy.ts";
import { ProxyRefusal } from "./failure.ts";

export interface TunnelOptions {
  readonly proxy: Proxy;
  /** Longest wait for the proxy, and then for the server's handshake. */
  readonly timeoutMs: number;
  /** PEM text: authorities to trust, at the proxy too. */
  readonly ca?: string;
  /** PEM text: our certificate and its key, shown to the server and not to the proxy. */
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Connects to a server through `CONNECT` at a proxy, and speaks TLS with the server inside. Ours, as
 * undici's waits for a silent proxy for five minutes and dials one that hangs up again at once, for ever.
 */
export function createTunnel(options: TunnelOptions): buildConnector.connector {
  const { proxy: _proxy, timeoutMs: timeout, ...tls } = options;
  const handshake = buildConnector({ ...tls, timeout });
  return (target, callback): void => void connect(target, callback);

  async function connect(
    target: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> {
    try {
      handshake({ ...target, httpSocket: await dial(options, target) }, callback);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  }
}

function dial(options: TunnelOptions, target: buildConnector.Options): Promise<Socket> {
  const { proxy, timeoutMs, ca } = options;
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
    const secure = proxy.origin.startsWith("https:");
    const request = secure
      ? httpsRequest(proxy.origin, ca === undefined ? init : { ...init, ca })
      : httpRequest(proxy.origin, init);
    const timer = setTimeout(() => {
      request.destroy(
        new DOMException(`the proxy did not connect within ${timeoutMs} ms`, "TimeoutError"),
      );
    }, timeoutMs);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    request.once("connect", ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        settle(() => resolve(socket));
      } else {
        socket.destroy();
        settle(() => reject(new ProxyRefusal(statusCode)));
      }
    });
    request.on("error", (error) => settle(() => reject(throughProxy(proxy, error))));
    request.end();
  });
}

/** Says which proxy failed. Its origin holds no password. */
const throughProxy = ({ origin }: Proxy, cause: Error): Error =>
  new Error(`at the proxy ${origin}: ${cause.message}`, { cause });
