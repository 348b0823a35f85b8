import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { LogConnection } from "../../dist/ingest-log/log-connection.js";
import { LoggedIngest } from "../../dist/ingest-log/logged-ingest.js";
import { logNames } from "../../dist/ingest-log/log-limits.js";
import { readLogState } from "../../dist/ingest-log/log-state.js";
import { objectStream } from "../../dist/ingest-log/log-streams.js";
import { parseLogUrl } from "../../dist/model/log-target.js";
import { parseBatch } from "../../dist/runs/ingest/parse-batch.js";
import { wireRun } from "../support/wire-runs.ts";
import { canRunNats } from "../support/nats-cluster.ts";
import type { NatsCluster } from "../support/nats-cluster.ts";
import { startNats } from "../support/started-nats.ts";

/** For a busy machine, on which the log may need several elections. */
const patient = { timeout: 60_000 };

async function openLog({ url }: Pick<NatsCluster, "url">): Promise<LogConnection> {
  const log = await LogConnection.open(parseLogUrl(url), { maxBytes: 67_108_864 });
  onTestFinished(() => log.close());
  return log;
}

/** The NATS servers that lead none of the streams. Waits until each stream has a leader. */
async function findFollowers(
  log: LogConnection,
  { names }: NatsCluster,
  streams: readonly string[],
): Promise<readonly string[]> {
  const leaders: string[] = [];
  for (const stream of streams) {
    const readLeader = async (): Promise<string | undefined> =>
      (await log.manager.streams.info(stream)).cluster?.leader;
    await expect.poll(readLeader, patient).toBeTruthy();
    leaders.push((await readLeader()) ?? "");
  }
  return names.filter((name) => !leaders.includes(name));
}

const countWaiting = (log: LogConnection): Promise<number | undefined> =>
  readLogState(log).then(
    ({ waitingMessages }) => waitingMessages,
    () => undefined,
  );

describe.skipIf(!canRunNats)("the connections of a server to the log", () => {
  test("lead to two NATS servers, also after one of them was killed", async () => {
    const cluster = await startNats(3);
    const log = await openLog(cluster);
    expect(log.serverIds.size).toBe(2);
    for (const name of cluster.names) {
      await cluster.kill(name);
      await expect.poll(() => log.serverIds.size, patient).toBe(2);
      cluster.restart(name);
      await expect.poll(() => cluster.countReady(), patient).toBe(3);
    }
  }, 200_000);

  test("append each message once while a NATS server that does not lead is cut off", async () => {
    const cluster = await startNats(3);
    const log = await openLog(cluster);
    const followers = await findFollowers(log, cluster, [logNames.stream]);
    expect(followers).toHaveLength(2);
    let appended = 0;
    for (const name of followers) {
      cluster.pause(name);
      try {
        for (let index = 0; index < 5; index += 1) {
          await log.append(Buffer.from(`message ${appended}`));
          appended += 1;
        }
      } finally {
        cluster.resume(name);
      }
      // What the server received while it was cut off arrives now, and is recognized.
      await expect.poll(() => cluster.countReady(), patient).toBe(3);
      await expect.poll(() => countWaiting(log), patient).toBe(appended);
    }
    expect(await countWaiting(log)).toBe(appended);
  }, 200_000);

  test("append each message once while the leader can't reach one of the others", async () => {
    const cluster = await startNats(3, { canCutLinks: true });
    const log = await openLog(cluster);
    const followers = await findFollowers(log, cluster, [logNames.stream]);
    const leader = cluster.names.find((name) => !followers.includes(name)) ?? "";
    const [cutOff = "", connected = ""] = followers;
    await cluster.cutLink(leader, cutOff);
    expect(await cluster.isLinked(leader, cutOff)).toBe(false);
    expect(await cluster.isLinked(leader, connected)).toBe(true);
    expect(await cluster.isLinked(cutOff, connected)).toBe(true);
    for (let index = 0; index < 5; index += 1) {
      await log.append(Buffer.from(`message ${index}`));
    }
    // Servers that tell each other of the others find no way around the cut.
    expect(await cluster.isLinked(leader, cutOff)).toBe(false);
    await cluster.healLink(leader, cutOff);
    await log.append(Buffer.from("message 5"));
    await expect.poll(() => countWaiting(log), patient).toBe(6);
  }, 200_000);

  test("acknowledge nothing that the leader alone has, also if it was sent before", async () => {
    const cluster = await startNats(3);
    const followers = await findFollowers(await openLog(cluster), cluster, [logNames.stream]);
    const leader = cluster.names.find((name) => !followers.includes(name)) ?? "";
    const log = await openLog({ url: cluster.urlOf(leader) });
    followers.forEach((name) => cluster.pause(name));
    try {
      // The leader knows the id of the message at the second attempt, although no other server has the message.
      await expect(log.append(Buffer.from("message"))).rejects.toMatchObject({ status: 503 });
    } finally {
      followers.forEach((name) => cluster.resume(name));
    }
  }, 200_000);

  test("append once more what the log loses when another server becomes its leader", async () => {
    const cluster = await startNats(3);
    const log = await openLog(cluster);
    const ingest = new LoggedIngest(log, undefined, {
      recent: { keepMs: 60_000, checkMs: 100, quietMs: 500, bytes: 1_000_000 },
    });
    onTestFinished(() => ingest.close());
    const body = Buffer.from(JSON.stringify({ post: [wireRun(), wireRun()] }));
    await ingest.ingest(randomUUID(), parseBatch(body).batch);
    expect(await countWaiting(log)).toBe(1);
    const { disturbances } = log;
    // NATS loses acknowledged messages by chance only. So the test deletes the message, and then asks for an election.
    await log.manager.streams.purge(logNames.stream);
    expect(await countWaiting(log)).toBe(0);
    await log.connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${logNames.stream}`);
    await expect.poll(() => log.disturbances, patient).toBeGreaterThan(disturbances);
    await expect.poll(() => ingest.storedAgain, patient).toBe(1);
    await expect.poll(() => countWaiting(log), patient).toBe(1);
  }, 200_000);

  test("store a large run while a NATS server that does not lead is cut off", async () => {
    const cluster = await startNats(3);
    const log = await openLog(cluster);
    const [name = ""] = await findFollowers(log, cluster, [logNames.stream, objectStream]);
    cluster.pause(name);
    let object = "";
    // If the server leads the metadata of JetStream, the others elect another leader first. Clients try again meanwhile.
    const store = async (): Promise<string> => {
      object = await log.putObject(Buffer.from("a large run"));
      return object;
    };
    try {
      await expect.poll(store, patient).not.toBe("");
    } finally {
      cluster.resume(name);
    }
    await expect.poll(() => cluster.countReady(), patient).toBe(3);
    expect(Buffer.from((await log.objects.getBlob(object)) ?? []).toString()).toBe("a large run");
  }, 200_000);

  test("are one if there is one NATS server", async () => {
    const log = await openLog(await startNats(1));
    await log.append(Buffer.from("message"));
    expect(log.serverIds.size).toBe(1);
    expect(await countWaiting(log)).toBe(1);
  });
});
