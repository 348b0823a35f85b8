import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** Forwards connections to a port of this machine, until its network is cut. */
export class TcpProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: "forwarding" | "silent" | "refusing" = "forwarding";

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#forward(socket, targetPort));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TcpProxy(server, targetPort);
  }

  /** Ends all connections, and each new one. */
  refuse(): void {
    this.#state = "refusing";
    this.#sockets.forEach((socket) => socket.destroy());
  }

  /** Keeps all connections, also new ones, and forwards nothing, as if packets were dropped. */
  silence(): void {
    this.#state = "silent";
    this.#sockets.forEach((socket) => socket.pause());
  }

  /** Forwards again, also what was sent meanwhile. */
  restore(): void {
    this.#state = "forwarding";
    this.#sockets.forEach((socket) => socket.resume());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.refuse();
    this.#server.close();
    await once(this.#server, "close");
  }

  #forward(socket: Socket, targetPort: number): void {
    if (this.#state === "refusing") {
      socket.destroy();
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (chunk) => to.write(chunk));
      from.on("error", () => undefined);
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#state === "silent") {
        from.pause();
      }
    }
  }
}
