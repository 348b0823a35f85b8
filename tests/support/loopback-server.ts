import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** An answer in facts, or a function that answers, or does not, by itself. */
export type ScriptedAnswer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | ((response: ServerResponse, request: SeenRequest) => void);

export interface LoopbackServer extends AsyncDisposable {
  /** Base address, such as `http://127.0.0.1:4711`; of a unix socket `http://localhost`. */
  readonly endpoint: string;
  readonly port: number;
  /** Every request whose body arrived, in order. */
  readonly requests: readonly SeenRequest[];
  /** Those whose path begins with `/runs`. */
  readonly runRequests: readonly SeenRequest[];
  /** Connections taken so far. */
  readonly connections: number;
  /** Ends its connections at once. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface LoopbackOptions {
  /** Answers of the paths that begin with `/runs`, in turn, the last one for ever. @defaultValue 202 */
  readonly runs?: readonly ScriptedAnswer[];
  /** Answers of `/info`. @defaultValue hangs */
  readonly info?: ScriptedAnswer;
  /** Takes part of each request as it begins; an answer here is the answer. */
  readonly onBegin?: (request: IncomingMessage, response: ServerResponse) => void;
  /** @defaultValue 127.0.0.1 */
  readonly host?: string;
  readonly tls?: ServerOptions;
  readonly socketPath?: string;
}

/** A server on this machine that answers as it is told and keeps what it was sent. */
export async function loopbackServer(options: LoopbackOptions = {}): Promise<LoopbackServer> {
  const { runs = [{ status: 202, body: "{}" }], info, host = "127.0.0.1", socketPath } = options;
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const counts = { connections: 0, runs: 0 };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    options.onBegin?.(request, response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const seen = seenOf(request, Buffer.concat(chunks));
      requests.push(seen);
      if (!response.writableEnded && !response.destroyed) {
        answer(response, seen, seen.path.includes("/runs") ? nextOf(runs, counts.runs++) : info);
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
  // What a client with a wrong certificate does ends here.
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

const nextOf = (script: readonly ScriptedAnswer[], index: number): ScriptedAnswer | undefined =>
  script[Math.min(index, script.length - 1)];

const seenOf = ({ method, url, headers }: IncomingMessage, body: Buffer): SeenRequest => ({
  method: method ?? "",
  path: url ?? "",
  headers,
  body,
});

function answer(
  response: ServerResponse,
  request: SeenRequest,
  script: ScriptedAnswer | undefined,
): void {
  if (typeof script === "function") {
    script(response, request);
  } else if (script !== undefined) {
    response.writeHead(script.status ?? 200, script.headers);
    response.end(script.body ?? "");
  }
}

/** Never answers. */
export const hang: ScriptedAnswer = () => undefined;

/** Ends the connection in place of an answer. */
export const breakOff: ScriptedAnswer = (response) => {
  response.socket?.destroy();
};
