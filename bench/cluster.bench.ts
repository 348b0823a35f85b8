// How many complete runs per second do servers store on SQLite, on PostgreSQL, and on PostgreSQL behind a log on NATS
// JetStream, and what CPU time does each part take for a run? The programs of `npm run cluster-test` must be installed.
import {
  chmodSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NatsCluster } from "../server/tests/support/nats-cluster.ts";
import { Processes, waitFor } from "../tests/cluster/processes.ts";
import { startPostgres } from "../tests/cluster/single-postgres.ts";
import { findFreePort } from "../tests/support/free-port.ts";
import type { ClusterReply, ClusterRequest } from "./cluster-child.ts";
import { readCpuMicros } from "./process-figures.ts";
import { withChild } from "./processes.ts";
import type { Ask } from "./processes.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";
import { workloads } from "./workloads.ts";

const engineNames = ["sqlite", "postgres", "log"] as const;
type EngineName = (typeof engineNames)[number];
const titles: Readonly<Record<EngineName, string>> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  log: "PostgreSQL behind the log",
};

const readOption = (flag: string, fallback: string): string => {
  const index = process.argv.indexOf(flag);
  return index === -1 ? fallback : (process.argv[index + 1] ?? fallback);
};
/** Number of runs that all clients together record for a measurement. */
const runCount = Math.ceil((workloads.M.runs * Number(readOption("--share", "2"))) / 10) * 10;
const rounds = Number(readOption("--rounds", "3"));
const serverCounts = readOption("--servers", "1,2,4").split(",").map(Number);
const engineList = readOption("--engines", engineNames.join(",")).split(",");
const engines = engineNames.filter((name) => engineList.includes(name));

const command = join(import.meta.dirname, "../cli/bin/millrace.mjs");
const warmupShare = 0.3;
/** Largest number of bytes in the log. The NATS servers of tests have space for twice as many, and for dead letters. */
const logBytes = 134_217_728;
/** The settings that differ from PostgreSQL's defaults. As by default, commits wait for the disk. */
const postgresSettings = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  max_connections: "200",
};

interface Measurement {
  readonly runs: number;
  /** Seconds until the last run was acknowledged, and until all could be read. */
  readonly acknowledgedSeconds: number;
  readonly storedSeconds: number;
  /** CPU time per run, microseconds. */
  readonly serverMicros: number;
  readonly databaseMicros: number;
  readonly logMicros: number;
  /** Bytes per run that the store has on disk after the measurement, the warm-up's runs included. */
  readonly diskBytes: number;
}

/** The servers and processes that a measurement uses. */
interface Deployment {
  readonly urls: readonly string[];
  readonly serverPids: readonly number[];
  /** Where the store keeps its data. */
  readonly storeFolder: string;
  /** The main process of PostgreSQL; 0 without it. */
  readonly databasePid: number;
  readonly logPids: readonly number[];
}

const configurations = engines.flatMap((engine) =>
  // A SQLite database belongs to one server.
  serverCounts
    .filter((servers) => engine !== "sqlite" || servers === 1)
    .map((servers) => ({ engine, servers, measurements: [] as Measurement[] })),
);
for (let round = 1; round <= rounds; round += 1) {
  for (const { engine, servers, measurements } of configurations) {
    const measurement = await measure(engine, servers);
    measurements.push(measurement);
    console.error(
      `round ${round}: ${titles[engine]}, ${servers} servers, ${formatNumber(measurement.runs / measurement.storedSeconds)} runs/s stored`,
    );
  }
}

const sqliteRate = median(
  (configurations.find(({ engine }) => engine === "sqlite")?.measurements ?? []).map(
    readStoredRate,
  ),
);
publish({
  script: "cluster",
  question: "How many complete runs per second do one or more servers store on each engine?",
  body: `${table(
    [
      "engine",
      "servers",
      "acknowledged runs/s",
      "stored runs/s",
      "of SQLite",
      "servers: CPU µs/run",
      "PostgreSQL: CPU µs/run",
      "NATS: CPU µs/run",
      "kB/run on disk",
    ],
    configurations.map(({ engine, servers, measurements }) => {
      const format = (read: (measurement: Measurement) => number): string =>
        formatSpread(measurements.map(read));
      return [
        titles[engine],
        servers,
        format(({ runs, acknowledgedSeconds }) => runs / acknowledgedSeconds),
        format(readStoredRate),
        formatNumber(median(measurements.map(readStoredRate)) / sqliteRate),
        format(({ serverMicros }) => serverMicros),
        format(({ databaseMicros }) => databaseMicros),
        format(({ logMicros }) => logMicros),
        formatNumber(median(measurements.map(({ diskBytes }) => diskBytes)) / 1_000),
      ];
    }),
  )}\n\nMedian (lowest–highest) of ${rounds} rounds in which the engines took turns, each with ${formatNumber(runCount)} runs of size M, new processes and an empty database. Each server has a client of its own (the SDK with its defaults, in its own process). All processes share the machine, so more servers store more only where cores are left. A run is acknowledged when SQLite or PostgreSQL has committed it, or when two of three NATS servers have it; it is stored when a server counts it. CPU is that of all threads of the processes of a kind. On disk are the files of SQLite with its write-ahead log, and those of PostgreSQL without it. PostgreSQL 15 with ${Object.entries(
    postgresSettings,
  )
    .map(([name, value]) => `\`${name}=${value}\``)
    .join(", ")}, without a standby.`,
});

function readStoredRate({ runs, storedSeconds }: Measurement): number {
  return runs / storedSeconds;
}

async function measure(engine: EngineName, servers: number): Promise<Measurement> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  // PostgreSQL runs as another user, and must reach its folder in this one.
  chmodSync(folder, 0o755);
  const log = engine === "log" ? await NatsCluster.start(3) : undefined;
  try {
    await using processes = new Processes(folder);
    const database =
      engine === "sqlite" ? undefined : await startPostgres(processes, postgresSettings);
    const started = await startServers(processes, servers, {
      ...(database && { MILLRACE_STORE_URL: database.url }),
      ...(log && { MILLRACE_LOG: log.url, MILLRACE_LOG_MAX_BYTES: String(logBytes) }),
    });
    return await record({
      urls: started.map(({ url }) => url),
      serverPids: started.map(({ pid }) => pid),
      storeFolder: join(folder, database === undefined ? "data" : "postgres/data/base"),
      databasePid: database?.pid ?? 0,
      logPids: log?.pids ?? [],
    });
  } finally {
    await log?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts servers one after the other: the first one creates the tables, the log and the key of the others. */
async function startServers(
  processes: Processes,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<readonly { readonly url: string; readonly pid: number }[]> {
  const dataFolder = join(processes.folder, "data");
  mkdirSync(dataFolder);
  const servers: { url: string; pid: number }[] = [];
  while (servers.length < count) {
    const port = await findFreePort();
    const { pid } = processes.start({
      name: `server${servers.length + 1}`,
      command: process.execPath,
      args: [command, "serve", "--port", String(port), "--data", dataFolder],
      env,
    });
    const url = `http://127.0.0.1:${port}`;
    await waitFor(`the server at ${url}`, 30_000, async () => {
      const response = await fetch(`${url}/health/ready`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.status === 200 ? true : undefined;
    });
    servers.push({ url, pid });
  }
  return servers;
}

/** Records with one client for each server, all at the same time, and measures until the last run can be read. */
function record(deployment: Deployment): Promise<Measurement> {
  const { urls } = deployment;
  const [firstUrl = ""] = urls;
  const runsOfClient = Math.ceil(runCount / urls.length / 10) * 10;
  const warmupRuns = Math.ceil((runsOfClient * warmupShare) / 10) * 10;
  const emptyBytes = readFolderBytes(deployment.storeFolder);
  return withClients(urls.length, async (clients) => {
    const recordAll = async (runs: number): Promise<void> => {
      const replies = await Promise.all(
        clients.map(async (ask, index) => {
          const endpoint = urls[index] ?? firstUrl;
          return (await ask({
            endpoint,
            workload: "M",
            runs,
          } satisfies ClusterRequest)) as ClusterReply;
        }),
      );
      const lost = replies.reduce((sum, reply) => sum + reply.lost, 0);
      if (lost > 0) {
        throw new Error(`the clients lost ${lost} runs`);
      }
    };
    await recordAll(warmupRuns);
    await waitUntilStored(firstUrl, warmupRuns * urls.length);

    const before = readCpu(deployment);
    const startedAt = performance.now();
    await recordAll(runsOfClient);
    const acknowledgedSeconds = (performance.now() - startedAt) / 1_000;
    await waitUntilStored(firstUrl, (warmupRuns + runsOfClient) * urls.length);
    const storedSeconds = (performance.now() - startedAt) / 1_000;
    const after = readCpu(deployment);
    const runs = runsOfClient * urls.length;
    return {
      runs,
      acknowledgedSeconds,
      storedSeconds,
      serverMicros: (after.servers - before.servers) / runs,
      databaseMicros: (after.database - before.database) / runs,
      logMicros: (after.log - before.log) / runs,
      diskBytes:
        (readFolderBytes(deployment.storeFolder) - emptyBytes) /
        ((warmupRuns + runsOfClient) * urls.length),
    };
  });
}

/** Starts clients, calls `converse` with functions that send them requests, and ends the clients. */
function withClients<Result>(
  count: number,
  converse: (clients: readonly Ask[]) => Promise<Result>,
  started: readonly Ask[] = [],
): Promise<Result> {
  return started.length === count
    ? converse(started)
    : withChild("cluster-child", {}, (ask) => withClients(count, converse, [...started, ask]));
}

/** @throws Error the runs cannot all be read within a minute, or there are too many of them. */
async function waitUntilStored(url: string, count: number): Promise<void> {
  await waitFor(`${count} stored runs`, 60_000, async () => {
    const stored = await countRuns(url);
    if (stored > count) {
      throw new Error(`${stored} runs are stored, but only ${count} were recorded`);
    }
    return stored === count ? true : undefined;
  });
}

async function countRuns(url: string): Promise<number> {
  const sessions = (await (await fetch(`${url}/sessions?name=bench`)).json()) as readonly {
    readonly id: string;
  }[];
  if (sessions.length === 0) {
    return 0;
  }
  const body = JSON.stringify({ session: sessions.map(({ id }) => id) });
  const response = await fetch(`${url}/runs/stats`, { method: "POST", body });
  return ((await response.json()) as { readonly run_count: number }).run_count;
}

/** Bytes of all files in a folder and below it. */
function readFolderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (bytes, entry) =>
      entry.isFile()
        ? bytes +
          (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0)
        : bytes,
    0,
  );
}

/** CPU time that each kind of process has used, microseconds. */
function readCpu({ serverPids, databasePid, logPids }: Deployment): {
  readonly servers: number;
  readonly database: number;
  readonly log: number;
} {
  return {
    servers: sumCpuMicros(serverPids),
    database: databasePid === 0 ? 0 : readPostgresCpuMicros(databasePid),
    log: sumCpuMicros(logPids),
  };
}

function sumCpuMicros(pids: readonly number[]): number {
  return pids.reduce((micros, pid) => micros + readCpuMicros(pid), 0);
}

/** CPU time of PostgreSQL's main process and of all processes that it has started, including those that have ended. */
function readPostgresCpuMicros(mainPid: number): number {
  let micros = 0;
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) {
      continue;
    }
    const fields = readStatFields(pid);
    if (pid === mainPid) {
      // These fields include the time of children that have ended.
      micros += fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) * 10_000;
    } else if (Number(fields[1]) === mainPid) {
      micros += (Number(fields[11]) + Number(fields[12])) * 10_000;
    }
  }
  return micros;
}

/** The fields of a process in `/proc`, beginning with its state. The list is empty if the process has ended. */
function readStatFields(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
