import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NatsCluster } from "../../server/tests/support/nats-cluster.ts";
import { readLines } from "../chaos/soak/journal.ts";
import { Oracle } from "../chaos/soak/oracle.ts";
import { ProducerProcess } from "../chaos/soak/processes.ts";
import { AcknowledgementProbe } from "./acknowledgement-probe.ts";
import type { ProbedGaps } from "./acknowledgement-probe.ts";
import { PostgresPair } from "./postgres-pair.ts";
import { findFreePort, Processes, waitFor } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { readRuns, toLines } from "./stored-runs.ts";
import { runSuites } from "./suites.ts";
import type { SuiteResult } from "./suites.ts";

const command = join(import.meta.dirname, "../../cli/bin/millrace.mjs");
/** Servers, and writers of the log. */
const processesOfEach = 2;
/** Bytes that may wait in the log: the NATS servers of tests have space for twice as many, and for dead letters. */
const logBytes = 268_435_456;
/** The limit while the log is filled; more than waits in it when the writers have just ended. */
const smallLogBytes = 33_554_432;
/** How long the log stays full, and for how long there is no database. */
const fullMs = 10_000;
const awayMs = 120_000;
/** How long a server, a writer or a NATS server is down or cut off. */
const downMs = 2_000;
const cutMs = 5_000;

export interface ClusterTestOptions {
  readonly folder: string;
  /** Whether a log receives the runs, which writers then store. */
  readonly withLog: boolean;
  /** Runs a second that each of the two programs records. */
  readonly runsPerSecond: number;
  /** Seconds between two faults, in which everything must recover. */
  readonly pauseSeconds: number;
  /**
   * Whether it also fills the log, takes the database away for two minutes, and runs the conformance and interop suites
   * meanwhile. They read what they have just written, so they run where no log is in front of the database.
   */
  readonly isLong: boolean;
  readonly log: (text: string) => void;
}

export interface ClusterReport {
  /** What was ended, in this order, and for how long nothing was acknowledged or readable. */
  readonly faults: readonly (ProbedGaps & { readonly fault: string })[];
  readonly recorded: number;
  readonly missing: number;
  /** Tests of the suites that passed, those that passed only when they were repeated included. */
  readonly passedTests: number;
  /** Everything that is wrong; empty on success. */
  readonly problems: readonly string[];
}

/** A server or a writer, which can be killed, and started again at the same address. */
class Member {
  readonly url: string;
  readonly #start: () => StartedProcess;
  #process: StartedProcess;

  private constructor(url: string, start: () => StartedProcess) {
    this.url = url;
    this.#start = start;
    this.#process = start();
  }

  /** Resolves when the process is ready. */
  static async start(url: string, start: () => StartedProcess): Promise<Member> {
    const member = new Member(url, start);
    await member.waitUntilReady();
    return member;
  }

  async killAndRestart(): Promise<void> {
    await this.kill();
    await sleep(downMs);
    this.restart();
  }

  async kill(): Promise<void> {
    await this.#process.end("SIGKILL");
  }

  restart(): void {
    this.#process = this.#start();
  }

  /** Resolves with what the process says of the log. */
  waitUntilReady(): Promise<LogHealth> {
    return waitFor(`the process at ${this.url}`, 60_000, async () => {
      const response = await fetch(`${this.url}/health/ready`).catch(() => undefined);
      const body: unknown = await response?.json().catch(() => undefined);
      return response?.status === 200 ? (body as LogHealth) : undefined;
    });
  }
}

interface LogHealth {
  readonly log?: { readonly waiting_messages?: number; readonly dead_letters?: number };
}

interface Fault {
  readonly fault: string;
  readonly run: () => Promise<unknown>;
}

interface Members {
  readonly database: PostgresPair;
  readonly stream: NatsCluster | undefined;
  readonly servers: readonly Member[];
  readonly writers: readonly Member[];
}

/**
 * Records runs through two servers on a replicated PostgreSQL, ends one part after the other, and compares what is stored
 * with the journals of the programs that recorded.
 */
export async function runClusterTest(options: ClusterTestOptions): Promise<ClusterReport> {
  const { folder, log, withLog } = options;
  await using processes = new Processes(folder);
  const database = await PostgresPair.start(processes);
  log("A primary of PostgreSQL and its synchronous standby are running.");
  const stream = withLog ? await NatsCluster.start(3) : undefined;
  try {
    const members = { database, stream, ...(await startMembers(processes, { database, stream })) };
    log(
      `${processesOfEach} servers${withLog ? `, ${processesOfEach} writers and three NATS servers` : ""} are running.`,
    );
    return await runFaults(members, options);
  } finally {
    await stream?.close();
  }
}

/** Starts the servers and the writers. The first server creates the key and the log that the others use. */
async function startMembers(
  processes: Processes,
  { database, stream }: Pick<Members, "database" | "stream">,
): Promise<Pick<Members, "servers" | "writers">> {
  const dataFolder = join(processes.folder, "data");
  mkdirSync(dataFolder);
  const startAll = async (name: "serve" | "work"): Promise<readonly Member[]> => {
    const members: Member[] = [];
    for (let number = 1; number <= processesOfEach; number += 1) {
      const port = await findFreePort();
      const start = (): StartedProcess =>
        processes.start({
          name: `${name}${number}`,
          command: process.execPath,
          args: [command, name, "--port", String(port), "--data", dataFolder],
          env: {
            MILLRACE_STORE_URL: database.url,
            ...(stream && {
              MILLRACE_LOG: stream.url,
              MILLRACE_LOG_MAX_BYTES: String(logBytes),
              MILLRACE_LOG_WRITER: "separate",
            }),
          },
        });
      members.push(await Member.start(`http://127.0.0.1:${port}`, start));
    }
    return members;
  };
  const servers = await startAll("serve");
  return { servers, writers: stream === undefined ? [] : await startAll("work") };
}

async function runFaults(
  members: Members,
  { folder, runsPerSecond, pauseSeconds, isLong, log }: ClusterTestOptions,
): Promise<ClusterReport> {
  const { database, stream, servers, writers } = members;
  const project = "cluster";
  const urls = servers.map(({ url }) => url);
  const probe = new AcknowledgementProbe(urls, "probe");
  const producers = urls.map((endpoint, index) => {
    const journal = join(folder, `recorded${index}.log`);
    const task = {
      journal,
      seed: index + 1,
      runsPerSecond,
      // A failover takes longer than the usual attempts.
      client: { endpoint, projectName: project, attempts: isLong ? 100 : 30 },
    };
    return { journal, process: new ProducerProcess(task) };
  });
  const suites = isLong && stream === undefined ? new Suites(urls, folder) : undefined;
  const faults: (ProbedGaps & { readonly fault: string })[] = [];
  await sleep(pauseSeconds * 1_000);
  log(`Before the faults: ${describe(probe.takeGaps())}`);
  const kills = stream === undefined ? listFaults(members) : listLogFaults(members);
  const outages = isLong ? listOutages(members, probe) : [];
  let tests: SuiteResult | undefined;
  for (const [index, { fault, run }] of [...kills, ...outages].entries()) {
    if (index === kills.length) {
      log("Completing the suites.");
      tests = await suites?.end();
    }
    probe.takeGaps();
    await run();
    await sleep(pauseSeconds * 1_000);
    database.restartNodes();
    await database.waitForStandby(120_000);
    await Promise.all([...servers, ...writers].map((member) => member.waitUntilReady()));
    await waitFor("an acknowledgement", 30_000, () => (probe.isAcknowledged ? true : undefined));
    const gaps = probe.takeGaps();
    faults.push({ fault, ...gaps });
    log(`${fault}: ${describe(gaps)}`);
  }

  const ends = await Promise.all(producers.map(({ process: producer }) => producer.finish()));
  await probe.end();
  const deadLetters = await waitForEmptyLog(servers[0]);
  log("Comparing what is stored with what was recorded.");
  const oracle = new Oracle();
  for (const { journal } of producers) {
    for await (const line of readLines(journal)) {
      oracle.recorded(line);
    }
  }
  const [first = "", second = ""] = urls;
  for await (const run of readRuns(first, project)) {
    toLines(run).forEach((line) => oracle.received(line));
  }
  const verdict = oracle.judge({ lost: 0 });
  const probed = new Set<string>();
  for await (const { id } of readRuns(second, "probe")) {
    probed.add(id);
  }
  const missingProbes = probe.acknowledgedIds.filter((id) => !probed.has(id));
  return {
    faults,
    recorded: verdict.obliged + probe.acknowledgedIds.length,
    missing: verdict.missing + missingProbes.length,
    passedTests: tests?.passed ?? 0,
    problems: [
      ...verdict.faults,
      ...(verdict.duplicates === 0 ? [] : [`${verdict.duplicates} records are stored twice`]),
      ...(deadLetters === 0 ? [] : [`${deadLetters} parts of the log became dead letters`]),
      ...(tests?.failed ?? []).map((test) => `a test of the suites fails: ${test}`),
      ...missingProbes.slice(0, 5).map((id) => `run ${id} was acknowledged and is missing`),
      ...ends.flatMap(({ stats }) =>
        stats.rejected + stats.dropped === 0
          ? []
          : [`a client lost records: ${JSON.stringify(stats.lost)}`],
      ),
    ],
  };
}

/** What is ended if servers write to the database themselves. */
const listFaults = ({ database, servers: [first, second] }: Members): readonly Fault[] => [
  { fault: "Killed a server", run: async () => first?.killAndRestart() },
  { fault: "Killed the PostgreSQL process", run: () => database.killPrimary("process") },
  { fault: "Killed the other server", run: async () => second?.killAndRestart() },
  { fault: "Killed the node of the PostgreSQL primary", run: () => database.killPrimary("node") },
];

/** What is ended if a log receives the runs. */
function listLogFaults({ database, stream, servers, writers }: Members): readonly Fault[] {
  const findLeader = (): Promise<string> =>
    waitFor(
      "a leader of the stream",
      30_000,
      async () => (await stream?.findLeader()) || undefined,
    );
  return [
    { fault: "Killed a server", run: async () => servers[0]?.killAndRestart() },
    { fault: "Killed a writer", run: async () => writers[0]?.killAndRestart() },
    {
      fault: "Killed the stream's leader",
      run: async () => {
        const leader = await findLeader();
        await stream?.kill(leader);
        await sleep(downMs);
        stream?.restart(leader);
      },
    },
    { fault: "Killed the PostgreSQL process", run: () => database.killPrimary("process") },
    {
      fault: "Cut a NATS server off",
      run: async () => {
        const leader = await findLeader();
        const follower = stream?.names.find((name) => name !== leader) ?? "";
        stream?.pause(follower);
        await sleep(cutMs);
        stream?.resume(follower);
      },
    },
  ];
}

/** What must not lose anything either, but takes longer. */
function listOutages(
  { database, stream, writers }: Members,
  probe: AcknowledgementProbe,
): readonly Fault[] {
  const away = {
    fault: `Took the database away for ${awayMs / 60_000} minutes`,
    run: async () => {
      await database.killAll();
      await sleep(awayMs);
      database.restartNodes();
      await database.waitForPrimary(120_000);
    },
  };
  if (stream === undefined) {
    return [away];
  }
  const fill = {
    fault: `Filled the log for ${fullMs / 1_000} s`,
    run: async () => {
      await Promise.all(writers.map((writer) => writer.kill()));
      const limit = await stream.setLogBytes(smallLogBytes);
      await waitFor("a full log", 180_000, () => (probe.isAcknowledged ? undefined : true));
      await sleep(fullMs);
      await stream.setLogBytes(limit);
      writers.forEach((writer) => writer.restart());
    },
  };
  return [fill, away];
}

/** The suites, which run again and again while parts are killed. A file in which a test failed then runs once more. */
class Suites {
  readonly #urls: readonly string[];
  readonly #folder: string;
  readonly #runs: Promise<readonly SuiteResult[]>;
  #isEnding = false;

  constructor(urls: readonly string[], folder: string) {
    this.#urls = urls;
    this.#folder = folder;
    this.#runs = this.#runUntilEnd();
  }

  /** Resolves with the tests that passed, and with those that fail although everything is there. */
  async end(): Promise<SuiteResult> {
    this.#isEnding = true;
    const results = await this.#runs;
    const files = [...new Set(results.flatMap(({ failedFiles }) => failedFiles))];
    const passed = results.reduce((sum, result) => sum + result.passed, 0);
    if (files.length === 0) {
      return { passed, failed: [], failedFiles: [] };
    }
    const again = await runSuites(this.#urls, { folder: this.#folder, name: "again", files });
    return { ...again, passed: passed + again.passed };
  }

  async #runUntilEnd(): Promise<readonly SuiteResult[]> {
    const results: SuiteResult[] = [];
    while (!this.#isEnding) {
      const name = `suites${results.length}`;
      results.push(await runSuites(this.#urls, { folder: this.#folder, name }));
    }
    return results;
  }
}

/** Waits until writers have stored all that the log holds. Returns the number of dead letters. */
const waitForEmptyLog = (server: Member | undefined): Promise<number> =>
  waitFor("an empty log", 300_000, async () => {
    const { log } = (await server?.waitUntilReady()) ?? {};
    if (log === undefined) {
      return 0;
    }
    return log.waiting_messages === 0 ? (log.dead_letters ?? 0) : undefined;
  });

const describe = ({ acknowledgementMs, readableMs }: ProbedGaps): string =>
  `nothing acknowledged for ${(acknowledgementMs / 1_000).toFixed(1)} s, readable after ${(readableMs / 1_000).toFixed(1)} s at most`;
