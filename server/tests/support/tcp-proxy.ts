import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** Connections that may be open at the same time; the system refuses more. */
const maxConnections = 1_000;

/** Characters of a connection's requests that are compared, the newest. */
const matchedChars = 65_536;

interface Loss {
  readonly request: RegExp;
  readonly onLost: () => void;
}

/**
 * Forwards connections to a port of this machine, until its network is cut. What one side does not read waits at the other
 * side, not in this process.
 */
export class TcpProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: "forwarding" | "silent" | "refusing" = "forwarding";
  #loss: Loss | undefined;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.maxConnections = maxConnections;
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

  /**
   * Ends the next connection on which a client sends what matches, once the target has answered, and without the answer.
   * Resolves when that has happened. What was sent before does not count.
   */
  loseAnswer(request: RegExp): Promise<void> {
    return new Promise((onLost) => {
      this.#loss = { request, onLost };
    });
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
    let requests = "";
    socket.on("data", (chunk: Buffer) => {
      if (this.#loss !== undefined) {
        requests = (requests + chunk.toString("latin1")).slice(-matchedChars);
      }
    });
    target.on("data", () => {
      if (this.#loss?.request.test(requests) === true) {
        this.#loss.onLost();
        this.#loss = undefined;
        socket.destroy();
      }
    });
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (chunk) => {
        if (!to.write(chunk)) {
          from.pause();
        }
      });
      to.on("drain", () => {
        if (this.#state === "forwarding") {
          from.resume();
        }
      });
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
