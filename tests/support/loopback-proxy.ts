import { createServer, request as forward } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface LoopbackProxy extends AsyncDisposable {
  readonly port: number;
  /** Such as `http://127.0.0.1:4711`. */
  readonly address: string;
  /** What was asked: `CONNECT host:port`, or method and whole address. */
  readonly asked: readonly string[];
  /** The `Proxy-Authorization` of each. */
  readonly authorizations: readonly (string | undefined)[];
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** Where every request goes, whatever host it names: names are the proxy's to resolve. */
  readonly targetPort: number;
  /** Answers `CONNECT` with this status in place of connecting; 0 hangs up, -1 says nothing. */
  readonly refuse?: number;
}

/** An HTTP proxy on this machine that forwards all it is asked to one port. */
export async function loopbackProxy({ targetPort, refuse }: ProxyOptions): Promise<LoopbackProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const note = (line: string, { headers }: IncomingMessage): void => {
    asked.push(line);
    authorizations.push(headers["proxy-authorization"]);
  };
  const server = createServer((request, response) => {
    note(`${request.method ?? ""} ${request.url ?? ""}`, request);
    if (refuse !== undefined) {
      response.writeHead(refuse).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? "");
    const { method, headers } = request;
    const target = { host: "127.0.0.1", port: targetPort, path: pathname + search };
    const onward = forward({ ...target, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on("connect", (request, client: Socket) => {
    note(`CONNECT ${request.url ?? ""}`, request);
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
  return { port, address, asked, authorizations, close, [Symbol.asyncDispose]: close };
}
