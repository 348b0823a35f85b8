import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A response as data, or a function that sends a response itself, or never responds. */
export type ScriptedResponse =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | ((response: ServerResponse, request: ReceivedRequest) => void);

export interface LoopbackServer extends AsyncDisposable {
  /** Base address, such as `http://127.0.0.1:4711`; `http://localhost` for a unix socket. */
  readonly endpoint: string;
  readonly port: number;
  /** Every request whose body arrived completely, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** The requests whose path contains `/runs`. */
  readonly runRequests: readonly ReceivedRequest[];
  /** The number of connections accepted so far. */
  readonly connections: number;
  /** Destroys all connections immediately. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface LoopbackOptions {
  /** Responses for paths that contain `/runs`, in turn; the last one repeats. @defaultValue 202 */
  readonly runs?: readonly ScriptedResponse[];
  /** The response for `/info` and every other path. @defaultValue 404, as of a server without `/info` */
  readonly info?: ScriptedResponse;
  /** Called when a request begins, before its body arrives. A response that it sends replaces the scripted one. */
  readonly onBegin?: (request: IncomingMessage, response: ServerResponse) => void;
  /** @defaultValue 127.0.0.1 */
  readonly host?: string;
  readonly tls?: ServerOptions;
  readonly socketPath?: string;
}

/** A server on loopback that sends scripted responses and keeps the requests that it received. */
export async function loopbackServer(options: LoopbackOptions = {}): Promise<LoopbackServer> {
  const { runs = [{ status: 202, body: "{}" }], host = "127.0.0.1", socketPath } = options;
  // A client waits for this response before it sends its first runs.
  const { info = { status: 404, body: "{}" } } = options;
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const counts = { connections: 0, runs: 0 };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    options.onBegin?.(request, response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const received = toReceivedRequest(request, Buffer.concat(chunks));
      requests.push(received);
      if (!response.writableEnded && !response.destroyed) {
        respond(
          response,
          received,
          received.path.includes("/runs") ? responseAt(runs, counts.runs++) : info,
        );
      }
    });
  };
  const server: Server =
    options.tls === undefined ? createServer(listener) : createSecureServer(options.tls, listener);
  server.on("connection", (socket: Socket) => {
    counts.connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  // A client with a wrong certificate causes this event; without a listener the process would report it.
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(socketPath === undefined ? { port: 0, host } : { path: socketPath }, resolve);
  });
  const port = socketPath === undefined ? (server.address() as AddressInfo).port : 0;
  const disconnect = (): void => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  const close = async (): Promise<void> => {
    disconnect();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  };
  const scheme = options.tls === undefined ? "http" : "https";
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    endpoint: socketPath === undefined ? `${scheme}://${name}:${port}` : "http://localhost",
    port,
    requests,
    get runRequests() {
      return requests.filter(({ path }) => path.includes("/runs"));
    },
    get connections() {
      return counts.connections;
    },
    disconnect,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const responseAt = (
  script: readonly ScriptedResponse[],
  index: number,
): ScriptedResponse | undefined => script[Math.min(index, script.length - 1)];

const toReceivedRequest = (
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): ReceivedRequest => ({
  method: method ?? "",
  path: url ?? "",
  headers,
  body,
});

function respond(
  response: ServerResponse,
  request: ReceivedRequest,
  script: ScriptedResponse | undefined,
): void {
  if (typeof script === "function") {
    script(response, request);
  } else if (script !== undefined) {
    response.writeHead(script.status ?? 200, script.headers);
    response.end(script.body ?? "");
  }
}

/** Leaves the request open, so that the client waits until its own time limit. */
export const neverRespond: ScriptedResponse = () => undefined;

/** Destroys the connection instead of responding. */
export const destroyConnection: ScriptedResponse = (response) => {
  response.socket?.destroy();
};
