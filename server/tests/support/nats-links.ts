import { TcpProxy } from "./tcp-proxy.ts";

interface Link {
  readonly from: number;
  readonly to: number;
  readonly proxy: TcpProxy;
}

/** The network between NATS servers: a proxy for each direction between two of them, so that it can be cut. */
export class NatsLinks {
  readonly #ports: readonly number[];
  readonly #links: readonly Link[];
  readonly #unreachable: TcpProxy;

  private constructor(ports: readonly number[], links: readonly Link[], unreachable: TcpProxy) {
    this.#ports = ports;
    this.#links = links;
    this.#unreachable = unreachable;
  }

  /** @param ports - on which the servers await each other */
  static async start(ports: readonly number[]): Promise<NatsLinks> {
    const pairs = ports.flatMap((port, to) =>
      ports.flatMap((_, from) => (from === to ? [] : [{ from, to, port }])),
    );
    const links = await Promise.all(
      pairs.map(async ({ from, to, port }) => ({ from, to, proxy: await TcpProxy.start(port) })),
    );
    const [port = 0] = ports;
    const unreachable = await TcpProxy.start(port);
    unreachable.refuse();
    return new NatsLinks(ports, links, unreachable);
  }

  /** A port on which every connection ends at once. */
  get unreachablePort(): number {
    return this.#unreachable.port;
  }

  /** The ports by which a server reaches all servers of the cluster, which it counts; its own port among them. */
  portsOf(index: number): readonly number[] {
    return this.#ports.map(
      (port, to) =>
        this.#links.find((link) => link.from === index && link.to === to)?.proxy.port ?? port,
    );
  }

  /** The proxies of both directions between two servers. */
  between(one: number, other: number): readonly TcpProxy[] {
    return this.#links
      .filter(({ from, to }) => (from === one && to === other) || (from === other && to === one))
      .map(({ proxy }) => proxy);
  }

  async close(): Promise<void> {
    await Promise.all(
      [this.#unreachable, ...this.#links.map(({ proxy }) => proxy)].map((proxy) =>
        proxy[Symbol.asyncDispose](),
      ),
    );
  }
}
