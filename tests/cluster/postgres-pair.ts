import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { killByFile, waitFor } from "./processes.ts";
import type { Processes, StartedProcess } from "./processes.ts";

/** Where Debian's package has the programs of PostgreSQL 15. */
const binaryFolder = "/usr/lib/postgresql/15/bin";
/** Trusted on loopback: the databases are empty before the test, and deleted after it. */
const accessRules = [
  "local all all trust",
  "host all all 127.0.0.1/32 trust",
  "host replication all 127.0.0.1/32 trust",
];

interface DatabaseNode {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly dataFolder: string;
  patroni: StartedProcess;
}

/**
 * A primary of PostgreSQL and its synchronous standby, under Patroni, with etcd as the place where Patroni agrees on who
 * is the primary.
 */
export class PostgresPair {
  readonly #processes: Processes;
  readonly #nodes: readonly DatabaseNode[];

  private constructor(processes: Processes, nodes: readonly DatabaseNode[]) {
    this.#processes = processes;
    this.#nodes = nodes;
  }

  /** Resolves when there is a primary with a synchronous standby. */
  static async start(processes: Processes): Promise<PostgresPair> {
    const etcdPort = await startEtcd(processes);
    const nodes: DatabaseNode[] = [];
    for (const name of ["postgres1", "postgres2"]) {
      const [port, restPort] = [await findFreePort(), await findFreePort()];
      const dataFolder = join(processes.createDatabaseFolder(name), "data");
      const config = join(processes.folder, `${name}.json`);
      // YAML is a superset of JSON.
      writeFileSync(
        config,
        JSON.stringify(createConfig({ name, port, restPort, dataFolder }, etcdPort)),
        { mode: 0o644 },
      );
      nodes.push({ name, port, restPort, dataFolder, patroni: startPatroni(processes, name) });
      processes.endAlso(join(dataFolder, "postmaster.pid"));
    }
    const pair = new PostgresPair(processes, nodes);
    await pair.waitForPrimary(60_000);
    await pair.waitForStandby(60_000);
    return pair;
  }

  /** The address of the database for clients, which names both nodes. */
  get url(): string {
    const hosts = this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(",");
    return `postgres://postgres@${hosts}/postgres`;
  }

  waitForPrimary(withinMs: number): Promise<DatabaseNode> {
    return waitFor("a primary of PostgreSQL", withinMs, () => this.#findNode("primary"));
  }

  /** A standby of the primary that is there now: right after a failover, the new primary still calls itself standby. */
  waitForStandby(withinMs: number): Promise<DatabaseNode> {
    return waitFor("a synchronous standby", withinMs, async () => {
      const primary = await this.#findNode("primary");
      const standby = await this.#findNode("synchronous");
      return primary === undefined || primary === standby ? undefined : standby;
    });
  }

  /** Kills the database process of the primary; with `"node"` its Patroni, too. Returns the name of the node. */
  async killPrimary(what: "process" | "node"): Promise<string> {
    const primary = await this.waitForPrimary(30_000);
    if (what === "node") {
      await primary.patroni.end("SIGKILL");
    }
    if (!killByFile(join(primary.dataFolder, "postmaster.pid"))) {
      throw new Error(`the database of ${primary.name} was not running`);
    }
    return primary.name;
  }

  /** Kills both nodes, so that there is no database until {@link restartNodes}. */
  async killAll(): Promise<void> {
    for (const { patroni, dataFolder } of this.#nodes) {
      if (!patroni.hasExited()) {
        await patroni.end("SIGKILL");
      }
      killByFile(join(dataFolder, "postmaster.pid"));
    }
  }

  /** Starts Patroni on the nodes where it has ended. */
  restartNodes(): void {
    for (const node of this.#nodes) {
      if (node.patroni.hasExited()) {
        node.patroni = startPatroni(this.#processes, node.name);
      }
    }
  }

  async #findNode(role: "primary" | "synchronous"): Promise<DatabaseNode | undefined> {
    for (const node of this.#nodes) {
      const response = await fetch(`http://127.0.0.1:${node.restPort}/${role}`, {
        signal: AbortSignal.timeout(2_000),
      }).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.status === 200) {
        return node;
      }
    }
    return undefined;
  }
}

async function startEtcd(processes: Processes): Promise<number> {
  const [port, peerPort] = [await findFreePort(), await findFreePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  processes.start({
    name: "etcd",
    command: "etcd",
    args: toFlags({
      "data-dir": join(processes.folder, "etcd"),
      "listen-client-urls": url,
      "advertise-client-urls": url,
      "listen-peer-urls": peerUrl,
      "initial-advertise-peer-urls": peerUrl,
      "initial-cluster": `default=${peerUrl}`,
    }),
  });
  await waitFor("etcd", 20_000, async () => {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200 ? true : undefined;
  });
  return port;
}

const toFlags = (flags: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);

const startPatroni = (processes: Processes, name: string): StartedProcess =>
  processes.start({
    name,
    command: "patroni",
    args: [join(processes.folder, `${name}.json`)],
    isDatabase: true,
  });

/** The configuration of a node of Patroni 3. */
const createConfig = (
  { name, port, restPort, dataFolder }: Omit<DatabaseNode, "patroni">,
  etcdPort: number,
): object => ({
  scope: "millrace",
  name,
  restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
  etcd3: { hosts: [`127.0.0.1:${etcdPort}`] },
  bootstrap: {
    dcs: {
      // A primary that is gone is noticed after at most seven seconds.
      ttl: 7,
      loop_wait: 1,
      retry_timeout: 3,
      master_start_timeout: 0,
      synchronous_mode: true,
      postgresql: {
        use_pg_rewind: true,
        use_slots: true,
        parameters: {
          synchronous_commit: "on",
          wal_log_hints: "on",
          max_connections: 100,
          // A node that was rewound needs the log since its last common checkpoint, which a busy primary may have removed.
          wal_keep_size: "2GB",
        },
      },
    },
    initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums"],
    pg_hba: accessRules,
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    bin_dir: binaryFolder,
    data_dir: dataFolder,
    pgpass: `${dataFolder}.pgpass`,
    pg_hba: accessRules,
    authentication: {
      superuser: { username: "postgres" },
      replication: { username: "postgres" },
      rewind: { username: "postgres" },
    },
    parameters: { unix_socket_directories: "" },
  },
});
