import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { IngestLog } from "../../server/src/ingest-log/log-admin.ts";
import type { LogState } from "../../server/src/ingest-log/log-report.ts";
import { NatsCluster } from "../../server/tests/support/nats-cluster.ts";
import { readLines } from "../chaos/soak/journal.ts";
import { Oracle } from "../chaos/soak/oracle.ts";
import { ProducerProcess } from "../chaos/soak/processes.ts";
import { AcknowledgementProbe } from "./acknowledgement-probe.ts";
import type { ProbedGaps } from "./acknowledgement-probe.ts";
import { listFaults, listLogFaults, listOutages } from "./faults.ts";
import type { Election, Members } from "./faults.ts";
import { Member } from "./member.ts";
import { PostgresPair } from "./postgres-pair.ts";
import { findFreePort } from "../support/free-port.ts";
import { Processes, waitFor } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { readAllRuns, readRuns, toLines } from "./stored-runs.ts";
import { RepeatedSuites } from "./suites.ts";
import type { SuiteResult } from "./suites.ts";

const command = join(import.meta.dirname, "../../cli/bin/millrace.mjs");
/** Servers, and writers of the log. */
const processesOfEach = 2;
/** Bytes that may wait in the log: the NATS servers of tests have space for twice as many, and for dead letters. */
const logBytes = 268_435_456;
export interface ClusterTestOptions {
  readonly folder: string;
  /** Whether a log receives the runs, which writers then store. */
  readonly withLog: boolean;
  /** Runs a second that each of the two programs records while the suites run. */
  readonly runsPerSecond: number;
  /** Runs a second that each of the two programs records when the suites have ended, or if there are none. */
  readonly fullRunsPerSecond: number;
  /** Seconds between two faults, in which everything must recover. */
  readonly pauseSeconds: number;
  /**
   * Whether it also fills the log, takes the database away for two minutes, and runs the conformance and interop suites
   * while the other faults happen.
   */
  readonly isLong: boolean;
  /** Complete runs that the two programs record at least. If all faults took less time, they go on recording. */
  readonly minRuns: number;
  readonly log: (text: string) => void;
}

/** What was ended, and for how long nothing was acknowledged or readable. */
interface FaultReport extends ProbedGaps {
  readonly fault: string;
  /** What the log itself needed to elect another leader. */
  readonly election: Election | undefined;
}

export interface ClusterReport {
  /** In the order in which they happened. */
  readonly faults: readonly FaultReport[];
  /** Complete runs that the two programs recorded with the SDK, without the small runs of the probe. */
  readonly runs: number;
  /** Starts and ends of runs, and runs of the probe, that had to arrive. */
  readonly recorded: number;
  readonly missing: number;
  /** Tests of the suites that passed, those that passed only when they were repeated included. */
  readonly passedTests: number;
  /** Everything that is wrong; empty on success. */
  readonly problems: readonly string[];
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
  const stream = withLog ? await NatsCluster.start(3, { canCutLinks: true }) : undefined;
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
  {
    folder,
    runsPerSecond,
    fullRunsPerSecond,
    pauseSeconds,
    isLong,
    minRuns,
    log,
  }: ClusterTestOptions,
): Promise<ClusterReport> {
  const { database, stream, servers, writers } = members;
  const project = "cluster";
  const startedMs = Date.now();
  const urls = servers.map(({ url }) => url);
  const probe = new AcknowledgementProbe(urls, "probe");
  const producers = urls.map((endpoint, index) => {
    const journal = join(folder, `recorded${index}.log`);
    const task = {
      journal,
      seed: index + 1,
      runsPerSecond: isLong ? runsPerSecond : fullRunsPerSecond,
      // A failover takes longer than the usual attempts.
      client: { endpoint, projectName: project, attempts: isLong ? 100 : 30 },
    };
    return { journal, process: new ProducerProcess(task) };
  });
  const suites = isLong ? new RepeatedSuites({ urls, log: stream?.url, folder }) : undefined;
  const faults: FaultReport[] = [];
  await sleep(pauseSeconds * 1_000);
  log(`Before the faults: ${describe(probe.takeGaps())}`);
  const kills = stream === undefined ? listFaults(members) : listLogFaults(members, stream);
  const outages = isLong ? listOutages(members, probe) : [];
  let tests: SuiteResult | undefined;
  for (const [index, { fault, run }] of [...kills, ...outages].entries()) {
    if (index === kills.length) {
      log("Completing the suites.");
      tests = await suites?.end();
      for (const { process: producer } of producers) {
        producer.send({ is: "set rate", runsPerSecond: fullRunsPerSecond });
      }
    }
    probe.takeGaps();
    let election: Election | undefined;
    await run((ended) => {
      election = ended;
    });
    await sleep(pauseSeconds * 1_000);
    database.restartNodes();
    await database.waitForStandby(120_000);
    await Promise.all([...servers, ...writers].map((member) => member.waitUntilReady()));
    await waitFor("an acknowledgement", 30_000, () => (probe.isAcknowledged ? true : undefined));
    const gaps = probe.takeGaps();
    const report = { fault, ...gaps, election };
    faults.push(report);
    log(`${fault}: ${describe(report)}`);
  }

  // Each run is two records, its start and its end.
  const countRuns = (): number =>
    producers.reduce(
      (sum, { process: producer }) => sum + (producer.samples.at(-1)?.stats.accepted ?? 0) / 2,
      0,
    );
  if (countRuns() < minRuns) {
    log(`Recording until ${minRuns} runs are complete.`);
    await waitFor("enough runs", 240_000, () => (countRuns() >= minRuns ? true : undefined));
  }
  const ends = await Promise.all(producers.map(({ process: producer }) => producer.finish()));
  await probe.end();
  const deadLetters = stream === undefined ? 0 : await waitForEmptyLog(stream);
  log("Comparing what is stored with what was recorded.");
  const oracle = new Oracle();
  for (const { journal } of producers) {
    for await (const line of readLines(journal)) {
      oracle.recorded(line);
    }
  }
  await readAllRuns(urls, { project, fromMs: startedMs, toMs: Date.now() }, (run) =>
    toLines(run).forEach((line) => oracle.received(line)),
  );
  const verdict = oracle.judge({ lost: 0 });
  const probed = new Set<string>();
  for await (const { id } of readRuns(urls[0] ?? "", "probe")) {
    probed.add(id);
  }
  const missingProbes = probe.acknowledgedIds.filter((id) => !probed.has(id));
  return {
    faults,
    runs: Math.floor(verdict.obliged / 2),
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

/**
 * Waits until writers have stored all that the log holds, and returns the number of dead letters. Asks the NATS servers: what a
 * server knows of the log may be some seconds old.
 */
async function waitForEmptyLog(stream: NatsCluster): Promise<number> {
  let failure: unknown;
  try {
    return await waitFor("an empty log", 300_000, async () => {
      try {
        const { waitingMessages, deadLetters } = await readLog(stream);
        return waitingMessages === 0 ? deadLetters : undefined;
      } catch (cause) {
        // A NATS server that has just come back does not know the log yet.
        failure = cause;
        return undefined;
      }
    });
  } catch {
    // The servers together may not answer, so each is also asked for the leader that it knows.
    const found = await stream
      .describeLog()
      .catch((cause: unknown) => `no answer: ${String(cause)}`);
    const leaders = await Promise.all(
      stream.names.map(async (name) => `${name}: ${(await stream.readLeaderOf(name)) ?? "none"}`),
    );
    throw new Error(`the log has ${found}; its leader according to ${leaders.join(", ")}`, {
      cause: failure,
    });
  }
}

async function readLog({ url }: NatsCluster): Promise<LogState> {
  const log = await IngestLog.open(url);
  try {
    return await log.readState();
  } finally {
    await log.close();
  }
}

function describe({
  acknowledgementMs,
  readableMs,
  election,
}: ProbedGaps & Partial<Pick<FaultReport, "election">>): string {
  const elected =
    election &&
    ` (another leader was elected after ${toSeconds(election.endedMs - election.beganMs)})`;
  return `nothing acknowledged for ${toSeconds(acknowledgementMs)}${elected ?? ""}, readable after ${toSeconds(readableMs)} at most`;
}

const toSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
