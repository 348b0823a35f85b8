import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { startServer } from "@millrace/server";
import { connect, RetentionPolicy } from "nats";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { IngestWriter } from "../../dist/ingest-log/ingest-writer.js";
import type { AppliedStore } from "../../dist/ingest-log/ingest-writer.js";
import {
  addDeadLetter,
  listDeadLetters,
  replayDeadLetters,
} from "../../dist/ingest-log/dead-letters.js";
import { LogConnection } from "../../dist/ingest-log/log-connection.js";
import { logNames } from "../../dist/ingest-log/log-limits.js";
import { readLogState } from "../../dist/ingest-log/log-state.js";
import { LoggedIngest } from "../../dist/ingest-log/logged-ingest.js";
import { IngestLog } from "../../dist/ingest-log/ingest-log.js";
import { deleteOrphans } from "../../dist/ingest-log/orphaned-objects.js";
import { MessagePuller } from "../../dist/ingest-log/pulled-messages.js";
import { RequestError } from "../../dist/model/errors.js";
import { parseLogUrl } from "../../dist/model/log-target.js";
import { parseBatch, parseOneRun } from "../../dist/runs/ingest/parse-batch.js";
import { openSqliteStore, openTemporaryStore } from "../../dist/store/sqlite-store.js";
import type { Store } from "../../dist/store/store.js";
import { canRunNats } from "../support/nats-cluster.ts";
import type { NatsCluster } from "../support/nats-cluster.ts";
import { startNats } from "../support/started-nats.ts";
import { StoreFixture } from "../support/store-fixture.ts";
import { otlpRequest, otlpSpan, spanIdOf, spanUuid } from "../support/otlp-spans.ts";
import { multipart, multipartType, someMicros, wireRun } from "../support/wire-runs.ts";
import { call, temporaryFolder, textOf } from "../support/running-server.ts";
import type { CallInit } from "../support/running-server.ts";

const maxBytes = 67_108_864;
const hour = 3_600_000;

async function openLog(cluster: NatsCluster, options = { maxBytes }): Promise<LogConnection> {
  const log = await LogConnection.open(parseLogUrl(cluster.url), options);
  onTestFinished(() => log.close());
  return log;
}

async function openStore(): Promise<Store> {
  const store = await openTemporaryStore();
  onTestFinished(() => store.close());
  return store;
}

/** Starts a writer, which ends with the test, and collects its warnings. */
function startWriter(log: LogConnection, store: AppliedStore, skippedMs?: number) {
  const warnings: string[] = [];
  const writer = new IngestWriter(log, store, {
    warn: (text) => warnings.push(text),
    ...(skippedMs === undefined ? {} : { skippedMs }),
  });
  onTestFinished(() => writer.close());
  return { writer, warnings };
}

/** Receives runs into the log, as the handlers do. */
function startIngest(log: LogConnection) {
  const ingest = new LoggedIngest(log);
  onTestFinished(() => ingest.close());
  const send = (tenantId: string, ...post: readonly unknown[]) =>
    ingest.ingest(tenantId, parseBatch(Buffer.from(JSON.stringify({ post }))).batch);
  return { ingest, send };
}

const someRuns = (count: number, rest: Readonly<Record<string, unknown>> = {}) =>
  Array.from({ length: count }, (_, index) =>
    wireRun({ micros: someMicros + index, inputs: { index }, ...rest }),
  );

async function countRuns(store: Store, tenantId = store.defaultTenantId): Promise<number> {
  const { runs } = await store.read.runs.query(tenantId, {
    filter: {},
    order: "asc",
    limit: 1_000,
    withChildren: false,
  });
  return runs.length;
}

const isEmpty = async (log: LogConnection): Promise<boolean> => {
  const { waitingMessages } = await readLogState(log);
  return waitingMessages === 0;
};

describe.skipIf(!canRunNats)("the ingest log on NATS JetStream", () => {
  test("a log on one NATS server keeps one replica when it is opened again, and is there after that server was restarted", async () => {
    const cluster = await startNats(1);
    const first = await openLog(cluster);
    await first.append(Buffer.from("runs"));
    const second = await openLog(cluster);
    expect(second.replicas).toBe(1);
    const [name = ""] = cluster.names;
    await cluster.kill(name);
    cluster.restart(name);
    await expect
      .poll(() => readLogState(second), { timeout: 10_000 })
      .toMatchObject({ waitingMessages: 1, replicas: 1 });
  });

  test("a run is received when the log has it, and readable when a writer has applied it", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    const run = wireRun({ inputs: { question: "why?" } });
    expect(await send(store.defaultTenantId, run)).toEqual({
      accepted: 1,
      duplicates: 0,
      rejected: [],
    });
    // A repeat is received like any other: the writer finds out that it is one.
    expect(await send(store.defaultTenantId, run)).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(await readLogState(log)).toMatchObject({ waitingMessages: 2, replicas: 1, maxBytes });
    const fixture = new StoreFixture(store);
    expect(await fixture.read(run.id)).toEqual({});
    const { writer, warnings } = startWriter(log, store);
    await expect.poll(() => isEmpty(log)).toBe(true);
    expect(await fixture.read(run.id)).toMatchObject({ inputs: { question: "why?" } });
    expect(writer.counts).toEqual({ applied: 1, duplicates: 1, deadLetters: 0 });
    expect(await readLogState(log)).toMatchObject({ waitingBytes: 0, lagSeconds: 0, inWork: 0 });
    expect(warnings).toEqual([]);
  });

  test("a patch that is applied before its post, and in another message, is merged with it", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { ingest, send } = startIngest(log);
    const run = wireRun({ inputs: { a: 1 } });
    const patch = [{ ...run, inputs: undefined, outputs: { b: 2 } }];
    const { batch } = parseBatch(Buffer.from(JSON.stringify({ patch })));
    await ingest.ingest(store.defaultTenantId, batch);
    await send(store.defaultTenantId, run);
    startWriter(log, store);
    await expect.poll(() => isEmpty(log)).toBe(true);
    expect(await new StoreFixture(store).read(run.id)).toMatchObject({
      inputs: { a: 1 },
      outputs: { b: 2 },
    });
  });

  test("two writers share the messages of two tenants, and each run is stored once", async () => {
    const cluster = await startNats(1);
    const [first, second] = [await openLog(cluster), await openLog(cluster)];
    const store = await openStore();
    const { id: otherTenant } = await store.write.tenants.create({
      handle: "other",
      displayName: "Other",
    });
    const { send } = startIngest(first);
    const tenants = [store.defaultTenantId, otherTenant];
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        send(tenants[index % 2] ?? "", ...someRuns(index % 2 === 0 ? 3 : 1)),
      ),
    );
    const writers = [startWriter(first, store).writer, startWriter(second, store).writer];
    await expect.poll(() => isEmpty(first)).toBe(true);
    expect(await countRuns(store)).toBe(300);
    expect(await countRuns(store, otherTenant)).toBe(100);
    const applied = writers.map(({ counts }) => counts.applied);
    expect(applied.reduce((sum, count) => sum + count, 0)).toBe(400);
    expect(writers.map(({ counts }) => counts.duplicates)).toEqual([0, 0]);
    expect(Math.min(...applied)).toBeGreaterThan(0);
  });

  test("a writer that is killed between the commit and the acknowledgement stores nothing twice", async () => {
    const cluster = await startNats(1);
    const folder = await temporaryFolder();
    const log = await openLog(cluster);
    const { send } = startIngest(log);
    const tenantId = await readDefaultTenant(folder);
    await send(tenantId, ...someRuns(20));
    const program = fileURLToPath(new URL("../support/killed-writer.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, cluster.url, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = once(child, "exit");
    expect(await once(createInterface(child.stdout), "line")).toEqual(["20"]);
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(await readLogState(log)).toMatchObject({ waitingMessages: 1, inWork: 1 });
    const store = await openSqliteStore(folder);
    onTestFinished(() => store.close());
    const { writer } = startWriter(log, store);
    await expect.poll(() => isEmpty(log)).toBe(true);
    // The acknowledgement waits for a second only, so a busy machine may deliver the message again.
    expect(writer.counts).toMatchObject({ applied: 0, deadLetters: 0 });
    expect(writer.counts.duplicates).toBeGreaterThanOrEqual(20);
    expect(await countRuns(store)).toBe(20);
  });

  test("while the store is away, nothing becomes a dead letter, and it is said once", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    let attempts = 0;
    let isAway = true;
    const { warnings, writer } = startWriter(log, {
      get readOnlyReason() {
        return store.readOnlyReason;
      },
      ingest: (tenantId, batch) => {
        attempts += 1;
        return isAway
          ? Promise.reject(new RequestError(503, "the database can't be reached", 1))
          : store.ingest(tenantId, batch);
      },
    });
    await Promise.all(someRuns(50).map((run) => send(store.defaultTenantId, run)));
    await expect.poll(() => attempts, { timeout: 30_000 }).toBeGreaterThan(12);
    expect(warnings).toEqual([expect.stringMatching(/store accepts no writes.*can't be reached/)]);
    isAway = false;
    await expect.poll(() => isEmpty(log)).toBe(true);
    expect(await countRuns(store)).toBe(50);
    expect(writer.counts).toEqual({ applied: 50, duplicates: 0, deadLetters: 0 });
    expect(warnings.slice(1)).toEqual([expect.stringMatching(/store accepts .* again/)]);
  });

  test("what the store refuses becomes a dead letter without its neighbors, and can be replayed", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { ingest, send } = startIngest(log);
    const runs = someRuns(9);
    const poison = wireRun({ micros: someMicros + 100, name: "poison" });
    let isRefused = true;
    const { warnings, writer } = startWriter(log, {
      readOnlyReason: undefined,
      ingest: (tenantId, batch) =>
        isRefused && "records" in batch && batch.records.some(({ id }) => id === poison.id)
          ? Promise.reject(new Error("this run can't be stored, ünfortunately"))
          : store.ingest(tenantId, batch),
    });
    await send(store.defaultTenantId, ...runs.slice(0, 5), poison, ...runs.slice(5));
    await log.append(Buffer.from("not a message"));
    // A child without a dotted order needs its parent, which arrives later.
    const parent = wireRun({ micros: someMicros + 200 });
    const child = { id: wireRun().id, name: "child", run_type: "tool", parent_run_id: parent.id };
    const { batch } = parseOneRun(Buffer.from(JSON.stringify(child)), "post", {
      position: "optional",
    });
    await ingest.ingest(store.defaultTenantId, batch);
    // The store takes the neighbors at once, and the writer tries the poison again.
    await expect.poll(() => countRuns(store)).toBeGreaterThanOrEqual(9);
    await send(store.defaultTenantId, parent);
    await expect.poll(() => isEmpty(log), { timeout: 40_000 }).toBe(true);

    const letters = await listDeadLetters(log, 10);
    expect(new Map(letters.map(({ tenantId, reason }) => [tenantId, reason]))).toEqual(
      new Map([
        [null, "the message is not one of this log"],
        [store.defaultTenantId, "this run can't be stored, ünfortunately"],
      ]),
    );
    expect(letters).toHaveLength(2);
    expect(writer.counts.deadLetters).toBe(2);
    expect(warnings).toHaveLength(2);
    expect(warnings.join("\n")).toMatch(/became dead letters.*ünfortunately/);
    expect(await new StoreFixture(store).read(child.id)).toMatchObject({
      name: "child",
      trace_id: parent.id,
    });
    expect(await countRuns(store)).toBe(11);

    isRefused = false;
    const refused = letters.find(({ tenantId }) => tenantId !== null)?.sequence ?? 0;
    await expect(replayDeadLetters(log, [refused, 4_711])).rejects.toThrow(/number 4711/);
    await expect.poll(() => countRuns(store)).toBe(12);
    expect(await new StoreFixture(store).read(poison.id)).toMatchObject({ name: "poison" });
    expect(await listDeadLetters(log, 10)).toHaveLength(1);
  });

  test("a message that closed writers gave back is applied, also if the store fails once", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    await send(store.defaultTenantId, wireRun());
    await deliver(log, 10);
    let failures = 1;
    const { writer } = startWriter(log, {
      readOnlyReason: undefined,
      ingest: (tenantId, batch) => {
        const isFailing = "records" in batch && batch.records.length > 0 && failures > 0;
        failures -= isFailing ? 1 : 0;
        return isFailing
          ? Promise.reject(new RequestError(503, "the connection was lost"))
          : store.ingest(tenantId, batch);
      },
    });
    await expect.poll(() => isEmpty(log)).toBe(true);
    expect(writer.counts).toEqual({ applied: 1, duplicates: 0, deadLetters: 0 });
  });

  test("messages that the log has and does not deliver are stored, and one that can't be stored becomes a dead letter", async () => {
    const cluster = await startNats(1);
    // A stream with this retention keeps a message that was acknowledged, as an election can do with any stream.
    const connection = await connect({ servers: cluster.url.slice("nats://".length) });
    const manager = await connection.jetstreamManager();
    await manager.streams.add({
      name: logNames.stream,
      subjects: [logNames.subject],
      retention: RetentionPolicy.Limits,
      num_replicas: 1,
    });
    await connection.close();
    const log = await openLog(cluster);
    const store = await openStore();
    const { send } = startIngest(log);
    await send(store.defaultTenantId, ...someRuns(2));
    await log.append(Buffer.from([255]));
    await send(store.defaultTenantId, ...someRuns(3, { name: "last" }));
    const puller = new MessagePuller(log);
    for (let count = 0; count < 3;) {
      const messages = await puller.pull(new AbortController().signal);
      messages.forEach((message) => message.acknowledge());
      count += messages.length;
    }
    puller.close();
    expect(await readLogState(log)).toMatchObject({ waitingMessages: 3 });
    const { warnings } = startWriter(log, store, 50);
    await expect.poll(() => isEmpty(log), { timeout: 10_000 }).toBe(true);
    expect(await countRuns(store)).toBe(5);
    expect(await listDeadLetters(log, 10)).toHaveLength(1);
    expect(warnings.join("\n")).toMatch(/had 1 message\(s\) that it did not deliver/);
  });

  test("a message that no writer completes becomes a dead letter, and can be replayed", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    await send(store.defaultTenantId, wireRun());
    await deliver(log, 50);
    const { warnings } = startWriter(log, store);
    await expect.poll(() => isEmpty(log)).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/delivered 51 times, and no writer/)]);
    expect(await countRuns(store)).toBe(0);
    expect(await replayDeadLetters(log, "all")).toBe(1);
    await expect.poll(() => countRuns(store)).toBe(1);
  });

  test("a run that is too large for a message is stored as it was sent, and its object is deleted", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    const text = "ä".repeat(1_600_000);
    const [large, small] = [wireRun({ inputs: { text } }), wireRun()];
    await send(store.defaultTenantId, large, small);
    expect(await readLogState(log)).toMatchObject({ waitingMessages: 2 });
    expect(await log.objects.list()).toHaveLength(1);
    expect(await deleteOrphans(log, Date.now() + 2 * hour)).toBe(0);
    startWriter(log, store);
    await expect.poll(() => isEmpty(log)).toBe(true);
    const stored = await new StoreFixture(store).read(large.id);
    expect((stored["inputs"] as { text: string }).text === text).toBe(true);
    expect(await countRuns(store)).toBe(2);
    expect(await deleteOrphans(log)).toBe(0);
    expect(await deleteOrphans(log, Date.now() + 2 * hour)).toBe(1);
    expect(await readLogState(log)).toMatchObject({ objectBytes: 0 });
  });

  test("a large run that the store refuses is replayed whole", async () => {
    const log = await openLog(await startNats(1));
    const store = await openStore();
    const { send } = startIngest(log);
    let isRefused = true;
    startWriter(log, {
      readOnlyReason: undefined,
      ingest: (tenantId, batch) =>
        isRefused && "records" in batch && batch.records.length > 0
          ? Promise.reject(new RequestError(422, "the character NUL can't be stored"))
          : store.ingest(tenantId, batch),
    });
    const large = wireRun({ inputs: { text: "x".repeat(2_000_000) } });
    await send(store.defaultTenantId, large);
    await expect.poll(() => isEmpty(log), { timeout: 40_000 }).toBe(true);
    expect(await listDeadLetters(log, 10)).toMatchObject([
      { reason: "the character NUL can't be stored", tenantId: store.defaultTenantId },
    ]);
    isRefused = false;
    // The object of a dead letter is not one without a message.
    await deleteOrphans(log, Date.now() + 2 * hour);
    expect(await replayDeadLetters(log, "all")).toBe(1);
    await expect.poll(() => countRuns(store)).toBe(1);
    const stored = await new StoreFixture(store).read(large.id);
    expect(JSON.stringify(stored["inputs"])).toHaveLength(2_000_011);
    expect(await listDeadLetters(log, 10)).toEqual([]);
  });

  test("a full log refuses runs with 429, and takes them again when a writer has made space", async () => {
    const log = await openLog(await startNats(1), { maxBytes: 1_048_576 });
    const store = await openStore();
    const { send } = startIngest(log);
    const fill = async () => {
      for (let count = 0; ; count += 1) {
        try {
          await send(store.defaultTenantId, wireRun({ inputs: { text: "x".repeat(100_000) } }));
        } catch (cause) {
          return { count, cause };
        }
      }
    };
    const { count: sent, cause: refusal } = await fill();
    expect(refusal).toMatchObject({ status: 429, retryAfterSeconds: 5 });
    expect(sent).toBeGreaterThan(5);
    startWriter(log, store);
    await expect.poll(() => countRuns(store)).toBe(sent);
    await expect.poll(() => isEmpty(log)).toBe(true);
    await send(store.defaultTenantId, wireRun());
    await expect.poll(() => countRuns(store)).toBe(sent + 1);
  });

  test("each call that brings runs, feedback, files or spans goes through the log, and is stored whole", async () => {
    const cluster = await startNats(1);
    const dataDir = await temporaryFolder();
    const server = await startServer({ port: 0, dataDir, log: cluster.url, logMaxBytes: maxBytes });
    onTestFinished(() => server.close());
    const [first, second] = [wireRun({ name: "first" }), wireRun({ name: "second" })];
    const sent: [target: string, init: CallInit][] = [
      ["POST /runs", { body: first }],
      [`PATCH /runs/${first.id}`, { body: { outputs: { a: 1 } } }],
      // Large enough for a worker thread, which parses the body and writes the messages.
      [
        "POST /runs/batch",
        { body: { post: someRuns(400, { outputs: { text: "x".repeat(6_000) } }) } },
      ],
      [
        "POST /runs/multipart",
        {
          body: multipart([
            { name: `post.${second.id}`, body: JSON.stringify(second) },
            { name: `attachment.${second.id}.note`, body: "a note", contentType: "text/plain" },
            { name: `feedback.${second.id}`, body: JSON.stringify({ key: "k", score: 0.5 }) },
          ]),
          headers: { "content-type": multipartType },
        },
      ],
      [
        "POST /otel/v1/traces",
        {
          body: otlpRequest([otlpSpan({ id: 1 }), otlpSpan({ id: 2, parent: 1 })]),
          headers: { "content-type": "application/json" },
        },
      ],
    ];
    const results = [];
    for (const [target, init] of sent) {
      results.push(await call(server, target, init));
    }
    expect(results.map(({ status }) => status)).toEqual([202, 202, 202, 202, 200]);
    expect(results.slice(0, 4).map(({ json }) => json["accepted"])).toEqual([1, 1, 400, 2]);
    const refused = await call(server, "POST /runs", { body: { ...first, id: "x" } });
    expect(refused.status).toBeGreaterThanOrEqual(400);

    const read = async (id: string) => (await call(server, `GET /runs/${id}`)).json;
    await expect.poll(() => read(first.id)).toMatchObject({ name: "first", outputs: { a: 1 } });
    await expect
      .poll(async () => (await call(server, `GET /feedback?run=${second.id}`)).json)
      .toMatchObject([{ key: "k", score: 0.5, run_id: second.id }]);
    expect(await read(second.id)).toMatchObject({ name: "second" });
    const { json } = await call(server, `GET /runs/${second.id}`);
    const link = new URL(
      textOf(json["s3_urls"]?.["attachment.note"]?.["presigned_url"]),
      server.url,
    );
    const file = await call(server, `GET ${link.pathname}${link.search}`);
    expect([file.status, file.text]).toEqual([200, "a note"]);
    await expect.poll(() => read(spanUuid(spanIdOf(2)))).toMatchObject({ name: "span 2" });
    const countMany = async () => {
      const body = { filter: 'eq(name, "a run")' };
      return (await call(server, "POST /runs/stats", { body })).json["run_count"];
    };
    await expect.poll(countMany, { timeout: 60_000 }).toBe(400);
    const metrics = await call(server, "GET /metrics");
    expect(metrics.text).toMatch(/^millrace_log_given_up_total 0$/m);
    // 2.4 MB do not fit into one message.
    expect(Number(/^millrace_log_appended_total (\d+)$/m.exec(metrics.text)?.[1])).toBeGreaterThan(
      8,
    );
  }, 120_000);

  test("the command shows the state and the dead letters, and replays them", async () => {
    const cluster = await startNats(1);
    const log = await IngestLog.open({ target: parseLogUrl(cluster.url), maxBytes: 4_194_304 }, {});
    onTestFinished(() => log.close());
    const connection = await LogConnection.openExisting(parseLogUrl(cluster.url));
    onTestFinished(() => connection.close());
    await connection.append(Buffer.from("no message"));
    const program = fileURLToPath(new URL("../../../cli/dist/millrace.js", import.meta.url));
    const run = (...args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [program, "log", ...args, "--log", cluster.url],
        { encoding: "utf8" },
      );
      return { status, stdout, stderr };
    };
    const status = run("status", "--json");
    expect(status).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(status.stdout)).toMatchObject({ waitingMessages: 1, deadLetters: 0 });
    expect(run("status").stdout).toMatch(/on 1 server\nwaiting +1 messages, \d+ of 4194304 bytes/);
    const header = JSON.stringify({
      time: "2026-01-01T00:00:00.000Z",
      tenantId: "t",
      reason: "r\u001b[2J",
    });
    await connection.appendDeadLetter(Buffer.from("a"), header);
    await connection.appendDeadLetter(Buffer.from("b"), header);
    expect(run("dead-letters")).toEqual({
      status: 0,
      stdout: [1, 2].map((at) => `${at}  2026-01-01T00:00:00.000Z  t  1 bytes  r [2J\n`).join(""),
      stderr: "",
    });
    expect(run("replay")).toMatchObject({ status: 2 });
    expect(run("replay", "2")).toEqual({
      status: 0,
      stdout: "put 1 dead letter back into the log\n",
      stderr: "",
    });
    expect(run("replay", "2")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/number 2/) as unknown,
    });
    expect(run("replay", "--all")).toMatchObject({
      status: 0,
      stdout: "put 1 dead letter back into the log\n",
    });
    expect(JSON.parse(run("status", "--json").stdout)).toMatchObject({
      waitingMessages: 3,
      deadLetters: 0,
    });
  }, 120_000);

  test("dead letters that another replay deletes meanwhile are left out", async () => {
    const log = await openLog(await startNats(1));
    const addLetters = async (...texts: readonly string[]): Promise<readonly number[]> => {
      for (const text of texts) {
        await addDeadLetter(log, Buffer.from(text), { tenantId: "t", reason: text });
      }
      const letters = await listDeadLetters(log, 10);
      return letters.map(({ sequence }) => sequence);
    };
    const { streams } = log.manager;
    /** Deletes a dead letter when the first one is read, before or after that. */
    const deleteWhileReading = (sequence: number, when: "before" | "after"): void => {
      const read = streams.getMessage.bind(streams);
      vi.spyOn(streams, "getMessage").mockImplementationOnce(async (...query) => {
        const first = when === "after" ? await read(...query) : undefined;
        await streams.deleteMessage(logNames.deadStream, sequence);
        return first ?? read(...query);
      });
    };
    const [first = 0, second = 0] = await addLetters("a", "b", "c");
    deleteWhileReading(second, "after");
    const listed = await listDeadLetters(log, 10);
    expect(listed.map(({ reason }) => reason)).toEqual(["a", "c"]);
    deleteWhileReading(first, "before");
    expect(await replayDeadLetters(log, "all")).toBe(1);
    expect(await listDeadLetters(log, 10)).toEqual([]);

    // The one that is read is deleted before it is replayed, in the second case with its object.
    const [small = 0] = await addLetters("d", "e");
    deleteWhileReading(small, "after");
    expect(await replayDeadLetters(log, "all")).toBe(1);
    const [large = 0] = await addLetters("f".repeat(log.messageBytes + 1), "g");
    const objects = await log.objects.list();
    await log.deleteObject(objects[0]?.name ?? "");
    deleteWhileReading(large, "after");
    expect(await replayDeadLetters(log, "all")).toBe(1);

    // An object that is missing for another reason is still an error.
    await addLetters("h".repeat(log.messageBytes + 1));
    const [object] = await log.objects.list();
    await log.deleteObject(object?.name ?? "");
    await expect(replayDeadLetters(log, "all")).rejects.toThrow(/the object .* was deleted/);
  });

  test("wrong credentials are refused at once, and no message contains them", async () => {
    const cluster = await startNats(1, {
      settings: ["authorization { user: u, password: right }"],
    });
    const toUrl = (credentials: string) => cluster.url.replace("nats://", `nats://${credentials}@`);
    const began = Date.now();
    const refused = await LogConnection.open(parseLogUrl(toUrl("u:hunter2")), { maxBytes }).catch(
      (cause: unknown) => cause as Error,
    );
    expect(refused).toMatchObject({
      code: "LOG",
      message: expect.stringMatching(/^Failed to reach the ingest log at nats:\/\/127/) as unknown,
    });
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(inspect(refused, { depth: 10 })).not.toContain("hunter2");
    const log = await LogConnection.open(parseLogUrl(toUrl("u:right")), { maxBytes });
    onTestFinished(() => log.close());
    expect(log.address).toBe(cluster.url);
    const nobody = parseLogUrl("nats://u:hunter2@127.0.0.1:9");
    await expect(LogConnection.open(nobody, { maxBytes, startMs: 500 })).rejects.toThrow(
      /^Failed to reach the ingest log at nats:\/\/127\.0\.0\.1:9: /,
    );
  });

  test("the configuration in deploy is one that NATS accepts", () => {
    const path = fileURLToPath(new URL("../../../deploy/nats/nats.conf", import.meta.url));
    const version = spawnSync("nats-server", ["--version"], { encoding: "utf8" }).stdout;
    // NATS 2.9 does not know when to write to disk, as the comment in the file says.
    const text = readFileSync(path, "utf8").replace(
      / v2\.9\./.test(version) ? /^ *sync_interval.*$/m : /^$/,
      "",
    );
    const copy = join(mkdtempSync(join(tmpdir(), "millrace-nats-")), "nats.conf");
    onTestFinished(() => rmSync(dirname(copy), { recursive: true }));
    writeFileSync(copy, text);
    const env = { ...process.env, NATS_NAME: "a", NATS_PASSWORD: "secret" };
    const { stderr, stdout, status } = spawnSync("nats-server", ["--config", copy, "-t"], {
      encoding: "utf8",
      env,
    });
    expect([stdout + stderr, status]).toEqual([expect.stringMatching(/is valid/), 0]);
  });

  test("a limit that is lowered deletes nothing of what waits", async () => {
    const cluster = await startNats(1);
    const first = await openLog(cluster, { maxBytes: 8_388_608 });
    const messages = 10;
    for (let index = 0; index < messages; index += 1) {
      await first.append(Buffer.alloc(200_000));
    }
    const name = await first.putObject(Buffer.alloc(2_000_000));
    const second = await openLog(cluster, { maxBytes: 1_048_576 });
    expect(await readLogState(second)).toMatchObject({
      waitingMessages: messages,
      maxBytes: 8_388_608,
    });
    expect((await second.objects.getBlob(name))?.byteLength).toBe(2_000_000);
    // Half of this limit is free.
    const third = await openLog(cluster, { maxBytes: 6_291_456 });
    expect(await readLogState(third)).toMatchObject({
      waitingMessages: messages,
      maxBytes: 6_291_456,
    });
  });

  test("the limits of a log that exists are changed, and a log that does not fit is refused", async () => {
    const cluster = await startNats(1);
    await openLog(cluster, { maxBytes: 2_097_152 });
    const second = await openLog(cluster, { maxBytes: 4_194_304 });
    expect(await readLogState(second)).toMatchObject({ maxBytes: 4_194_304 });
    const tooLarge = LogConnection.open(parseLogUrl(cluster.url), { maxBytes: 2 ** 40 });
    await expect(tooLarge).rejects.toThrow(/no space for 1099511627776 bytes.*--log-max-bytes/);
    const connection = await connect({ servers: cluster.url.slice("nats://".length) });
    const manager = await connection.jetstreamManager();
    await manager.streams.delete(logNames.stream);
    await connection.close();
    await expect(LogConnection.openExisting(parseLogUrl(cluster.url))).rejects.toThrow(
      /there is no ingest log at nats:\/\/127.*--log/,
    );
  });
});

/** Takes the only message of a log as often as given, as writers do that end before they apply it. */
async function deliver(log: LogConnection, times: number): Promise<void> {
  const puller = new MessagePuller(log);
  for (let count = 0; count < times;) {
    const [message] = await puller.pull(new AbortController().signal);
    message?.giveBack(0);
    count += message === undefined ? 0 : 1;
  }
  puller.close();
}

/** Creates the database of a folder, and returns the tenant of requests without a key. */
async function readDefaultTenant(folder: string): Promise<string> {
  const store = await openSqliteStore(folder);
  await store.close();
  return store.defaultTenantId;
}
