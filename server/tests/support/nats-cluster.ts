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
import { NatsLinks } from "./nats-links.ts";
import type { TcpProxy } from "./tcp-proxy.ts";

/**
 * Whether the tests of the log can run. In CI they must: `.ci/run` installs the server, and a test fails without it.
 */
export const canRunNats =
  Boolean(process.env["CI"]) || spawnSync("nats-server", ["--version"]).status === 0;

const startMs = 20_000;

/** The stream of runs. The name is stored by every NATS server, so it does not change. */
export const ingestStream = "MILLRACE_INGEST";

interface Node {
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly configPath: string;
  child: ChildProcess | undefined;
}

export interface NatsClusterOptions {
  /** Further lines of each server's configuration. */
  readonly settings?: readonly string[];
  /** Whether the network between two servers can be cut; see {@link NatsCluster.cutLink}. */
  readonly canCutLinks?: boolean;
}

/** NATS servers on loopback, each with a folder of its own. */
export class NatsCluster {
  readonly #folder: string;
  readonly #nodes: readonly Node[];
  readonly #links: NatsLinks | undefined;

  private constructor(folder: string, nodes: readonly Node[], links: NatsLinks | undefined) {
    this.#folder = folder;
    this.#nodes = nodes;
    this.#links = links;
  }

  /** Starts a single server, or several that form a cluster. They run until {@link close}. */
  static async start(
    size: 1 | 3,
    { settings = [], canCutLinks = false }: NatsClusterOptions = {},
  ): Promise<NatsCluster> {
    const folder = mkdtempSync(join(tmpdir(), "millrace-nats-"));
    const ports = await findFreePorts(3 * size);
    const routePorts = ports.slice(2 * size);
    const links = canCutLinks ? await NatsLinks.start(routePorts) : undefined;
    const nodes = Array.from({ length: size }, (_, index): Node => {
      const name = `n${index}`;
      mkdirSync(join(folder, name));
      const configPath = join(folder, name, "nats.conf");
      const [port = 0, monitorPort = 0] = [ports[index], ports[size + index]];
      const lines = [
        `server_name: ${name}`,
        `listen: "127.0.0.1:${port}"`,
        `http: "127.0.0.1:${monitorPort}"`,
        ...settings,
        `jetstream { store_dir: "${join(folder, name, "js")}", max_memory_store: 64MB, max_file_store: 1GB }`,
        ...(size === 1 ? [] : [describeRoutes(index, routePorts, links)]),
      ];
      writeFileSync(configPath, `${lines.join("\n")}\n`);
      return { name, port, monitorPort, configPath, child: undefined };
    });
    const cluster = new NatsCluster(folder, nodes, links);
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
    await this.#links?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The address of the log. */
  get url(): string {
    return `nats://${this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
  }

  /** The address of the log by one server, which names the others to its clients. */
  urlOf(name: string): string {
    return `nats://127.0.0.1:${this.#find(name).port}`;
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

  /**
   * Cuts the network between two servers, until {@link healLink}; both still reach the third one. Resolves when neither has
   * a route to the other.
   */
  async cutLink(name: string, other: string): Promise<void> {
    this.#linksOf(name, other).forEach((link) => link.refuse());
    await waitUntil(
      `no route between ${name} and ${other}`,
      async () => !(await this.isLinked(name, other)),
    );
  }

  /** Resolves when both servers have a route to each other again. */
  async healLink(name: string, other: string): Promise<void> {
    this.#linksOf(name, other).forEach((link) => link.restore());
    await waitUntil(`a route between ${name} and ${other}`, () => this.isLinked(name, other));
  }

  /** Whether a server reports a route to another one, or the other one to it. */
  async isLinked(name: string, other: string): Promise<boolean> {
    const [first, second] = await Promise.all([this.#readRoutes(name), this.#readRoutes(other)]);
    return first.remoteIds.includes(second.id) || second.remoteIds.includes(first.id);
  }

  /**
   * The server that leads the log's stream by its own account; `undefined` if none does. Unlike {@link findLeader} this needs
   * no answer of the cluster, so it shows an election when it ends.
   *
   * @param except - a server that has just been started, and calls itself leader until it has found the others
   */
  async observeLeader(except: string): Promise<string | undefined> {
    const nodes = this.#nodes.filter(({ name }) => name !== except);
    const claims = await Promise.all(
      nodes.map(async (node) => (await readLeader(node)) === node.name),
    );
    return nodes[claims.indexOf(true)]?.name;
  }

  /** What a server believes to be the leader of the log's stream; `undefined` if it knows none, or does not answer. */
  readLeaderOf(name: string): Promise<string | undefined> {
    return readLeader(this.#find(name));
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

  /** What is left in the log, and what its consumers have not confirmed, for the message of a test that fails. */
  async describeLog(): Promise<string> {
    const connection = await connect({
      servers: this.#nodes.map(({ port }) => `127.0.0.1:${port}`),
    });
    try {
      const manager = await connection.jetstreamManager({ timeout: startMs });
      const { state } = await manager.streams.info(ingestStream);
      const consumers = await manager.consumers.list(ingestStream).next();
      const unconfirmed = consumers.map(
        ({ num_pending: waiting, num_ack_pending: inWork, num_redelivered: redelivered }) =>
          `${waiting} not delivered, ${inWork} in work, ${redelivered} delivered again`,
      );
      return `${state.messages} messages, from ${state.first_seq} to ${state.last_seq}; ${unconfirmed.join("; ")}`;
    } finally {
      await connection.close();
    }
  }

  /**
   * Changes how many bytes may wait in the log. Returns how many could before. NATS deletes what is above a limit, and one
   * server may have more than the others, so the limit is at least twice as much as waits now.
   */
  async setLogBytes(maxBytes: number): Promise<number> {
    const connection = await connect({
      servers: this.#nodes.map(({ port }) => `127.0.0.1:${port}`),
    });
    try {
      const manager = await connection.jetstreamManager({ timeout: startMs });
      const { config, state } = await manager.streams.info(ingestStream);
      await manager.streams.update(ingestStream, {
        ...config,
        max_bytes: Math.max(maxBytes, 2 * state.bytes),
      });
      return config.max_bytes;
    } finally {
      await connection.close();
    }
  }

  /** The id of a server that runs, and those of the servers to which it has routes. */
  async #readRoutes(name: string) {
    const { server_id: id, routes } = (await readMonitor(this.#find(name), "routez")) as {
      readonly server_id: string;
      readonly routes: readonly { readonly remote_id: string }[] | null;
    };
    return { id, remoteIds: (routes ?? []).map(({ remote_id: remoteId }) => remoteId) };
  }

  #linksOf(name: string, other: string): readonly TcpProxy[] {
    if (this.#links === undefined) {
      throw new Error("start the cluster with canCutLinks");
    }
    const [from, to] = [this.#find(name), this.#find(other)].map((node) =>
      this.#nodes.indexOf(node),
    );
    return this.#links.between(from ?? 0, to ?? 0);
  }

  #find(name: string): Node {
    const node = this.#nodes.find((candidate) => candidate.name === name);
    if (node === undefined) {
      throw new Error(`there is no server ${name}`);
    }
    return node;
  }
}

/** The part of a server's configuration by which it finds the others. */
function describeRoutes(
  index: number,
  routePorts: readonly number[],
  links: NatsLinks | undefined,
): string {
  const routes = (links?.portsOf(index) ?? routePorts).map((port) => `nats://127.0.0.1:${port}`);
  // Servers pass on to each other where the others can be reached, which would lead around the proxies.
  const advertised = links && `, advertise: "127.0.0.1:${links.unreachablePort}"`;
  return `cluster { name: test, listen: "127.0.0.1:${routePorts[index]}"${advertised ?? ""}, routes: [${routes.join(", ")}] }`;
}

async function readMonitor({ monitorPort }: Node, path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${monitorPort}/${path}`, {
    signal: AbortSignal.timeout(monitorMs),
  });
  return response.json();
}

const monitorMs = 1_000;

interface StreamState {
  readonly name: string;
  readonly cluster?: { readonly leader?: string };
}

/** What a server believes to be the leader of the log's stream; `undefined` if it has none, or does not answer. */
async function readLeader(node: Node): Promise<string | undefined> {
  const state = (await readMonitor(node, "jsz?streams=true").catch(() => undefined)) as
    | { readonly account_details?: readonly { readonly stream_detail?: readonly StreamState[] }[] }
    | undefined;
  const streams = (state?.account_details ?? []).flatMap(({ stream_detail: some = [] }) => some);
  return streams.find(({ name }) => name === ingestStream)?.cluster?.leader || undefined;
}

async function waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + startMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) {
      throw new Error(`${what}: not within ${startMs / 1_000} s`);
    }
    await sleep(50);
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
