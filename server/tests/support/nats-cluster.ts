import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, NatsError } from "nats";

/**
 * Whether the tests of the log can run. In CI they must: `.ci/run` installs the server, and a test fails without it.
 */
export const canRunNats =
  Boolean(process.env["CI"]) || spawnSync("nats-server", ["--version"]).status === 0;

const startMs = 20_000;

/** The stream of runs. The name is stored by every NATS server, so it does not change. */
const ingestStream = "MILLRACE_INGEST";

interface Node {
  readonly name: string;
  readonly port: number;
  readonly configPath: string;
  child: ChildProcess | undefined;
}

/** NATS servers on loopback, each with a folder of its own. */
export class NatsCluster {
  readonly #folder: string;
  readonly #nodes: readonly Node[];

  private constructor(folder: string, nodes: readonly Node[]) {
    this.#folder = folder;
    this.#nodes = nodes;
  }

  /** Starts a single server, or several that form a cluster. They run until {@link close}. */
  static async start(size: 1 | 3, settings: readonly string[] = []): Promise<NatsCluster> {
    const folder = mkdtempSync(join(tmpdir(), "millrace-nats-"));
    const [ports, routePorts] = [await findFreePorts(size), await findFreePorts(size)];
    const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(", ");
    const cluster = new NatsCluster(
      folder,
      ports.map((port, index) => {
        const name = `n${index}`;
        mkdirSync(join(folder, name));
        const configPath = join(folder, name, "nats.conf");
        const lines = [
          `server_name: ${name}`,
          `listen: "127.0.0.1:${port}"`,
          ...settings,
          `jetstream { store_dir: "${join(folder, name, "js")}", max_memory_store: 64MB, max_file_store: 1GB }`,
          ...(size === 1
            ? []
            : [
                `cluster { name: test, listen: "127.0.0.1:${routePorts[index]}", routes: [${routes}] }`,
              ]),
        ];
        writeFileSync(configPath, `${lines.join("\n")}\n`);
        return { name, port, configPath, child: undefined };
      }),
    );
    cluster.#nodes.forEach((node) => start(node));
    const deadline = Date.now() + startMs;
    while ((await cluster.countReady()) < size) {
      if (Date.now() > deadline) {
        await cluster.close();
        throw new Error(`${size} NATS servers did not start: is nats-server installed?`);
      }
      await sleep(50);
    }
    return cluster;
  }

  /** Ends the servers, and deletes their folders. */
  async close(): Promise<void> {
    await Promise.all(this.#nodes.map(({ name }) => this.kill(name)));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The address of the log. */
  get url(): string {
    return `nats://${this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
  }

  /** The process ids of the servers that run. */
  get pids(): readonly number[] {
    return this.#nodes.flatMap(({ child }) => child?.pid ?? []);
  }

  get names(): readonly string[] {
    return this.#nodes.map(({ name }) => name);
  }

  /** Ends a server with SIGKILL. */
  async kill(name: string): Promise<void> {
    const node = this.#find(name);
    const { child } = node;
    if (child !== undefined) {
      node.child = undefined;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
  }

  /** Stops a server without ending it, as if its network were cut, until {@link resume}. */
  pause(name: string): void {
    this.#find(name).child?.kill("SIGSTOP");
  }

  resume(name: string): void {
    this.#find(name).child?.kill("SIGCONT");
  }

  restart(name: string): void {
    start(this.#find(name));
  }

  /** Servers that take part in JetStream. */
  async countReady(): Promise<number> {
    const states = await Promise.all(
      this.#nodes.map(async ({ port }) => {
        try {
          const connection = await connect({ port, reconnect: false, timeout: 1_000 });
          try {
            await connection.jetstreamManager({ timeout: 1_000 });
            return 1;
          } finally {
            await connection.close();
          }
        } catch (cause) {
          // Not started yet, or it runs and wants credentials.
          return cause instanceof NatsError && cause.isAuthError() ? 1 : 0;
        }
      }),
    );
    return states.filter((state) => state === 1).length;
  }

  /** The server that leads the stream of the log, which takes the messages in; an empty text if there is none. */
  async findLeader(): Promise<string> {
    const connection = await connect({
      servers: this.#nodes.map(({ port }) => `127.0.0.1:${port}`),
    });
    try {
      const manager = await connection.jetstreamManager({ timeout: 1_000 });
      const { cluster } = await manager.streams.info(ingestStream);
      return cluster?.leader ?? "";
    } catch {
      return "";
    } finally {
      await connection.close();
    }
  }

  /** Changes how many bytes may wait in the log. Returns how many could before. */
  async setLogBytes(maxBytes: number): Promise<number> {
    const connection = await connect({
      servers: this.#nodes.map(({ port }) => `127.0.0.1:${port}`),
    });
    try {
      const manager = await connection.jetstreamManager({ timeout: startMs });
      const { config } = await manager.streams.info(ingestStream);
      await manager.streams.update(ingestStream, { ...config, max_bytes: maxBytes });
      return config.max_bytes;
    } finally {
      await connection.close();
    }
  }

  #find(name: string): Node {
    const node = this.#nodes.find((candidate) => candidate.name === name);
    if (node === undefined) {
      throw new Error(`there is no server ${name}`);
    }
    return node;
  }
}

function start(node: Node): void {
  const child = spawn("nats-server", ["-c", node.configPath], { stdio: "ignore" });
  child.once("error", (cause) => {
    process.emitWarning(`nats-server can't be started, install it: ${cause.message}`);
  });
  node.child = child;
}

/** Ports that are free now. The servers of a cluster must know each other's before they start. */
async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
