import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import tls from "node:tls";
import { chooseProxy, parseProxy } from "millrace/model";
import type { Settings } from "./settings.ts";

/** An answer of a server, as far as a check looks at it. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** When the answer began, milliseconds since the epoch. */
  readonly atMs: number;
}

const limitMs = 5_000;
const bodyBytes = 262_144;

/** Asks for one path below the endpoint, the way a client does: by its proxy, socket and certificates. */
export async function ask(
  settings: Settings,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const signal = AbortSignal.timeout(limitMs);
  const url = new URL(settings.endpoint.value.replace(/\/+$/, "") + path);
  const socketPath = settings.socketPath?.value;
  const proxy = proxyOf(settings);
  const pem = pemOf(settings);
  const agent = false as const;
  const common = { headers: { ...headers, host: url.host }, signal, agent };
  if (proxy === undefined) {
    const send = url.protocol === "https:" ? https.request : http.request;
    const onSocket = socketPath === undefined ? {} : { socketPath };
    return answerOf(send(url, { ...common, ...pem, ...onSocket }));
  }
  const authorization =
    proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization };
  const via = new URL(proxy.origin);
  if (url.protocol === "http:") {
    const direct = { ...common, headers: { ...common.headers, ...authorization } };
    const send = via.protocol === "https:" ? https.request : http.request;
    return answerOf(send(via, { ...direct, path: url.href }));
  }
  const socket = await tunnelTo(url, via, { headers: authorization, signal });
  const secure = tls.connect({ socket, servername: url.hostname, ...pem });
  try {
    await once(secure, "secureConnect", { signal });
    // An agent, the one of `false` too, would look the host up by itself, past the proxy.
    const { agent: _agent, ...rest } = common;
    return await answerOf(https.request(url, { ...rest, createConnection: () => secure }));
  } finally {
    // Left open, it would keep the process from ending.
    secure.destroy();
  }
}

/** The proxy on the way to the endpoint, by the client's own rule. */
export function proxyOf(settings: Settings): ReturnType<typeof parseProxy> {
  const { endpoint, httpProxy, httpsProxy, noProxy, socketPath } = settings;
  return parseProxy(
    chooseProxy({
      endpoint: endpoint.value,
      httpProxy: httpProxy?.value,
      httpsProxy: httpsProxy?.value,
      noProxy: noProxy?.value,
      socketPath: socketPath?.value,
    }) ?? "",
  );
}

/** Certificates that the environment names. */
export const pemOf = ({ ca, cert, key }: Settings): tls.SecureContextOptions => ({
  ...(ca === undefined ? {} : { ca: ca.value }),
  ...(cert === undefined ? {} : { cert: cert.value }),
  ...(key === undefined ? {} : { key: key.value }),
});

async function tunnelTo(
  { hostname, port }: URL,
  via: URL,
  init: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Socket> {
  const send = via.protocol === "https:" ? https.request : http.request;
  const path = `${hostname}:${port === "" ? "443" : port}`;
  const request = send(via, { ...init, method: "CONNECT", path });
  request.end();
  const [response, socket] = (await once(request, "connect", { signal: init.signal })) as [
    http.IncomingMessage,
    Socket,
  ];
  if (response.statusCode !== 200) {
    socket.destroy();
    throw new Error(`the proxy answered ${response.statusCode}`);
  }
  return socket;
}

async function answerOf(request: http.ClientRequest): Promise<Answer> {
  request.end();
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  const atMs = Date.now();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bodyBytes) {
      break;
    }
  }
  request.destroy();
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: Buffer.concat(chunks).toString(), atMs };
}
