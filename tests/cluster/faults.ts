import { setTimeout as sleep } from "node:timers/promises";
import type { NatsCluster } from "../../server/tests/support/nats-cluster.ts";
import type { AcknowledgementProbe } from "./acknowledgement-probe.ts";
import type { Member } from "./member.ts";
import type { PostgresPair } from "./postgres-pair.ts";
import { waitFor } from "./processes.ts";

/** The limit while the log is filled. It is larger if much waits in the log when the writers have just ended. */
const smallLogBytes = 8_388_608;
/** How long the log stays full, and for how long there is no database. */
const fullMs = 10_000;
const awayMs = 120_000;
/** How long a NATS server is down, how long one is stopped, and how long the network between two is cut. */
const downMs = 2_000;
const stoppedMs = 5_000;
const cutMs = 8_000;
/** How long the stream may have no leader, which takes several elections at worst. */
const electionMs = 60_000;

/** What the test ends, one after the other. */
export interface Members {
  readonly database: PostgresPair;
  readonly stream: NatsCluster | undefined;
  readonly servers: readonly Member[];
  readonly writers: readonly Member[];
}

/** When the stream lost its leader, and when it had another one, by `performance.now()`. */
export interface Election {
  readonly beganMs: number;
  readonly endedMs: number;
}

export interface Fault {
  readonly fault: string;
  /** Resolves when everything that was ended has been started again. */
  readonly run: (onElection: (election: Election) => void) => Promise<unknown>;
}

/** What is ended if servers write to the database themselves. */
export const listFaults = ({ database, servers: [first, second] }: Members): readonly Fault[] => [
  { fault: "Killed a server", run: async () => first?.killAndRestart() },
  { fault: "Killed the PostgreSQL process", run: () => database.killPrimary("process") },
  { fault: "Killed the other server", run: async () => second?.killAndRestart() },
  { fault: "Killed the node of the PostgreSQL primary", run: () => database.killPrimary("node") },
];

/** What is ended if a log receives the runs. */
export function listLogFaults(
  { database, servers, writers }: Members,
  stream: NatsCluster,
): readonly Fault[] {
  return [
    { fault: "Killed a server", run: async () => servers[0]?.killAndRestart() },
    { fault: "Killed a writer", run: async () => writers[0]?.killAndRestart() },
    {
      fault: "Killed the NATS server that leads the stream",
      run: async (onElection) => {
        const leader = await waitForLeader(stream);
        const beganMs = performance.now();
        await stream.kill(leader);
        await Promise.all([
          waitForElection(stream, leader).then(() =>
            onElection({ beganMs, endedMs: performance.now() }),
          ),
          sleep(downMs).then(() => stream.restart(leader)),
        ]);
      },
    },
    { fault: "Killed the PostgreSQL process", run: () => database.killPrimary("process") },
    {
      fault: `Stopped a NATS server for ${stoppedMs / 1_000} s`,
      run: async () => {
        const follower = findFollower(stream, await waitForLeader(stream));
        stream.pause(follower);
        await sleep(stoppedMs);
        stream.resume(follower);
      },
    },
    {
      fault: `Cut the network between the stream's leader and another NATS server for ${cutMs / 1_000} s`,
      run: async () => {
        const leader = await waitForLeader(stream);
        const follower = findFollower(stream, leader);
        await stream.cutLink(leader, follower);
        await sleep(cutMs);
        if (await stream.isLinked(leader, follower)) {
          throw new Error(`${leader} and ${follower} found a way around the network that was cut`);
        }
        await stream.healLink(leader, follower);
      },
    },
  ];
}

const waitForLeader = (stream: NatsCluster): Promise<string> =>
  waitFor(
    "a leader of the stream",
    electionMs,
    async () => (await stream.findLeader()) || undefined,
  );

/** Resolves when the stream has a leader, which may be the server that led before and has been started again. */
const waitForElection = (stream: NatsCluster, before: string): Promise<string> =>
  Promise.any([
    waitFor("another leader", electionMs, () => stream.observeLeader(before)),
    waitForLeader(stream),
  ]);

const findFollower = ({ names }: NatsCluster, leader: string): string =>
  names.find((name) => name !== leader) ?? leader;

/** Changes how many bytes may wait in the log. After an election, a NATS server may not know the log for some seconds. */
const limitLog = (stream: NatsCluster, maxBytes: number): Promise<number> =>
  waitFor("a NATS server that knows the log", 30_000, () =>
    stream.setLogBytes(maxBytes).catch(() => undefined),
  );

/** What must not lose anything either, but takes longer. */
export function listOutages(
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
      const limit = await limitLog(stream, smallLogBytes);
      await waitFor("a full log", 180_000, () => (probe.isAcknowledged ? undefined : true));
      await sleep(fullMs);
      await limitLog(stream, limit);
      writers.forEach((writer) => writer.restart());
    },
  };
  return [fill, away];
}
