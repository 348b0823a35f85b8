import { createServer, request as forward } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface LoopbackProxy extends AsyncDisposable {
  readonly port: number;
  /** Such as `http://127.0.0.1:4711`. */
  readonly address: string;
  /** Each received request: `CONNECT host:port`, or the method and the whole URL. */
  readonly requestLines: readonly string[];
  /** The `Proxy-Authorization` header of each request. */
  readonly authorizations: readonly (string | undefined)[];
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** The port to which every request is forwarded, whatever host it names: resolving names is the proxy's task. */
  readonly targetPort: number;
  /** Responds with this status instead of forwarding. For `CONNECT`, 0 closes the connection and -1 never responds. */
  readonly refuse?: number;
}

/** An HTTP proxy on loopback that forwards every request to one port. */
export async function loopbackProxy({ targetPort, refuse }: ProxyOptions): Promise<LoopbackProxy> {
  const requestLines: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const logRequest = (line: string, { headers }: IncomingMessage): void => {
    requestLines.push(line);
    authorizations.push(headers["proxy-authorization"]);
  };
  const server = createServer((request, response) => {
    logRequest(`${request.method ?? ""} ${request.url ?? ""}`, request);
    if (refuse !== undefined) {
      response.writeHead(refuse).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? "");
    const { method, headers } = request;
    const target = { host: "127.0.0.1", port: targetPort, path: pathname + search };
    const forwarded = forward({ ...target, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  server.on("connect", (request, client: Socket) => {
    logRequest(`CONNECT ${request.url ?? ""}`, request);
    client.on("error", () => undefined);
    if (refuse === -1) {
      return;
    }
    if (refuse === 0) {
      client.destroy();
      return;
    }
    if (refuse !== undefined) {
      client.end(`HTTP/1.1 ${refuse} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const target = connect(targetPort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.pipe(client);
      client.pipe(target);
    });
    target.on("error", () => client.destroy());
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) {
      socket.destroy();
    }
    await new Promise((resolve) => {
      server.close(resolve);
    });
  };
  const address = `http://127.0.0.1:${port}`;
  return {
    port,
    address,
    requestLines: requestLines,
    authorizations,
    close,
    [Symbol.asyncDispose]: close,
  };
}
