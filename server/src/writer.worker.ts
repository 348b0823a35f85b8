import { dirname } from "node:path";
import { deserialize } from "node:v8";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf, RequestError } from "./model/errors.ts";
import { serverLimits } from "./model/options.ts";
import type { Activity } from "./runs/activity.ts";
import type { PackedBatch } from "./runs/run-record.ts";
import type { GroupedBatch } from "./runs/sqlite/post-rows.ts";
import { LongWrite } from "./storage/long-write.ts";
import { Checkpointer } from "./storage/sqlite/checkpointer.ts";
import { DamageWatch } from "./storage/sqlite/damage.ts";
import { DiskReserve, isDiskFull } from "./storage/sqlite/disk-reserve.ts";
import { DiskSpace, noLoad } from "./storage/sqlite/disk-space.ts";
import type { AddedLoad } from "./storage/sqlite/disk-space.ts";
import { LogSync } from "./storage/sqlite/log-sync.ts";
import { LongWrites } from "./store/long-writes.ts";
import { createWriters } from "./store/repositories.ts";
import type { Unchecked } from "./datasets/examples/schema-proofs.ts";
import type { SqliteWriters } from "./store/repositories.ts";
import { openWriter } from "./store/schema.ts";
import { rollBack } from "./storage/sqlite/connection.ts";
import { checkpointAndTruncate } from "./storage/sqlite/write-ahead-log.ts";
import type { Connection } from "./storage/sqlite/connection.ts";
import { TaskQueue } from "./storage/task-queue.ts";
import { invokeMethod, toFailure } from "./storage/thread-reply.ts";
import type { ThreadReply } from "./storage/thread-reply.ts";
import type { WriterCall, WriterMessage, WriterRequest } from "./store/writer-protocol.ts";

// The only thread that writes. Waiting requests share a transaction: a commit costs the same for one run as for ten
// thousand.

if (parentPort !== null) {
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const post: WriterContext["post"] = (message, buffers) => port.postMessage(message, buffers);
  try {
    const damage = new DamageWatch(path);
    const wasLeftOpen = damage.checkLog();
    const { db, writers } = openWithReserve(path, new DiskReserve(path));
    const checkpointer = new Checkpointer(db, path);
    const sync = new LogSync(path);
    const diskSpace = new DiskSpace(db, path, {
      onChange: (readOnlyReason) => post({ kind: "diskSpace", readOnlyReason }),
    });
    if (wasLeftOpen) {
      damage.checkInBackground();
    }
    const close = async (): Promise<void> => {
      // Stop everything that uses the folder before the writer ends: another server may open it then.
      sync.close();
      diskSpace.close();
      await damage.close();
      await checkpointer.close();
      try {
        checkpointAndTruncate(db);
      } catch {
        // The log file stays, and the next start recovers it.
      }
      db.close();
      port.close();
    };
    // Transactions never overlap: a group, or a slice of a long write, begins after the one before was committed.
    const turns = new TaskQueue();
    const longWrites = new LongWrites({
      db,
      beforeSlice: (call, isUndo) => {
        assertSound(damage);
        const refusal = isUndo || isRemoval(call) ? undefined : diskSpace.checkLoad(sliceLoad);
        if (refusal !== undefined) {
          throw refusal;
        }
      },
      onFailure: (cause) => damage.onFailure(cause),
      freeSpaceFor: (cause) => {
        const isFull = diskSpace.isFull(cause, noLoad);
        if (isFull) {
          diskSpace.releaseReserve();
          writers.steps.shrink();
        }
        return isFull;
      },
      canRestart: (call) => isRestartable(call),
      toReportedCause: (call, cause) =>
        diskSpace.isFull(cause, isRemoval(call) ? noLoad : sliceLoad) ? diskSpace.failure() : cause,
      run: (calls) => turns.addNext(() => write([], () => calls)),
      takeTurn: (slice) => turns.add(slice),
      isLowOnSpace: () => diskSpace.isLow,
      onSlice: (call) => {
        sync.touch();
        checkpointer.add(sliceLoad.bytes);
        if (isRemoval(call)) {
          writers.steps.grow();
          diskSpace.shortenLog();
        }
      },
      onEnd: (call, answer, deferred) => {
        if (isRemoval(call)) {
          diskSpace.restoreReserve();
        }
        post({ kind: "done", activity: [], answers: [answer], buffers: [] });
        turns.addNext(() => write([call], () => deferred));
      },
    });
    /** Runs calls, then the file maintenance that they need. `completed` are calls that were written before. */
    const write = async (
      completed: readonly WriterCall[],
      takeCalls: () => readonly WriterCall[],
    ): Promise<void> => {
      const group = takeCalls().filter((call) => !longWrites.deferIfConflicting(call));
      // Measure before writing: the results transfer the payload buffers back, which then have length 0.
      const bytes = group.reduce((sum, call) => sum + sizeOf(call), 0);
      if (
        group.length > 0 &&
        (await writeGroup({ db, writers, damage, diskSpace, longWrites, post }, group)) === "closed"
      ) {
        post({ kind: "done", activity: [], answers: longWrites.end(), buffers: [] });
        void close();
        return;
      }
      sync.touch();
      checkpointer.add(bytes);
      const deletions = [...completed, ...group].filter(isDeletion);
      if (deletions.length > 0) {
        checkpointer.erase(deletions.some(isOfExamples));
      }
    };
    const arrived: WriterCall[] = [];
    port.on("message", (call: WriterCall) => {
      arrived.push(call);
      turns.add(() => write([], () => takeGroup(port, arrived)));
    });
    post({ kind: "ready", readOnlyReason: diskSpace.reason });
  } catch (cause) {
    post({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/**
 * Opens the database, which writes a little. If the disk is too full for that, the reserved space is released first.
 */
function openWithReserve(
  path: string,
  reserve: DiskReserve,
): { readonly db: Connection; readonly writers: SqliteWriters } {
  try {
    const db = openWriter(path);
    return { db, writers: createWriters(db) };
  } catch (cause) {
    // The full disk may have failed the database, the index of its log, or the token key file.
    if (!isDiskFull(cause, dirname(path))) {
      throw cause;
    }
    if (!reserve.release()) {
      throw new Error(
        `the disk is full (${messageOf(cause)}): free some space; 1 MiB is enough to start the server and delete data`,
        { cause },
      );
    }
    return openWithReserve(path, reserve);
  }
}

/** Whether a request only removes data: such requests are accepted on a full disk. */
const isRemoval = ({ request }: WriterCall): boolean =>
  request.kind === "close" ||
  (request.kind === "write" &&
    // Retention rules delete data; the text index only records which rows it has added and removed, in a few bytes.
    (/^(?:retention|textIndex)$/.test(request.resource) ||
      /^(?:delete|remove|drop|sweep|clear|unshare|revoke)/.test(request.method)));

/** Whether a request removes or replaces data. */
const isDeletion = ({ request }: WriterCall): boolean =>
  request.kind === "write" && /^(?:delete|remove|drop|sweep|update|set|un)/.test(request.method);

/** Whether a long write can be restarted after some slices were committed: repeating a deletion is harmless. */
const isRestartable = ({ request }: WriterCall): boolean =>
  request.kind === "write" && request.method.startsWith("delete");

const isOfExamples = ({ request }: WriterCall): boolean =>
  request.kind === "write" &&
  /^(?:examples|largeExamples|datasets|uploads)$/.test(request.resource);

/**
 * The requests that have arrived and those that wait at the port, which share a transaction. What exceeds the limit is
 * left for the next turn. Empty if an earlier turn took the requests.
 */
function takeGroup(port: MessagePort, arrived: WriterCall[]): readonly WriterCall[] {
  const group: WriterCall[] = [];
  let bytes = 0;
  while (bytes < serverLimits.groupBytes) {
    const next = arrived.shift() ?? (receiveMessageOnPort(port)?.message as WriterCall | undefined);
    if (next === undefined) {
      break;
    }
    group.push(next);
    bytes += sizeOf(next);
  }
  return group;
}

/** Estimates the most that calls can add, before they run. Most calls count as small. */
function loadOf(calls: readonly WriterCall[]): AddedLoad {
  let bytes = 0;
  let rows = 0;
  for (const { request } of calls) {
    if (request.kind === "ingest") {
      const { batch } = request;
      const packedBytes = "packed" in batch ? batch.packed.byteLength : 0;
      bytes += batch.bodies.byteLength + packedBytes;
      rows += "packed" in batch ? packedBytes / packedRowBytes : batch.records.length;
    } else {
      bytes += smallLoad.bytes;
      rows += smallLoad.rows;
    }
  }
  return { bytes, rows };
}

const smallLoad: AddedLoad = { bytes: 262_144, rows: 20 };
/** Minimum bytes of a row in a packed batch. */
const packedRowBytes = 400;
/** The most that a slice of a long write adds. */
const sliceLoad: AddedLoad = { bytes: serverLimits.examplesPartChars, rows: 200 };

function sizeOf({ request }: WriterCall): number {
  return request.kind === "ingest" ? request.batch.bodies.byteLength : 0;
}

interface WriterContext {
  readonly db: Connection;
  readonly writers: SqliteWriters;
  readonly damage: DamageWatch;
  readonly diskSpace: DiskSpace;
  readonly longWrites: LongWrites;
  readonly post: (message: WriterMessage, buffers?: readonly ArrayBuffer[]) => void;
}

const maxRetries = 4;

/** Writes a group and posts its results. The group is committed as a whole, or all of it fails. */
async function writeGroup(
  dependencies: WriterContext,
  group: readonly WriterCall[],
  attempts = 0,
): Promise<"closed" | "open"> {
  const { db, writers, damage, diskSpace, post } = dependencies;
  const adding = group.filter((call) => !isRemoval(call));
  const load = adding.length > 0 ? loadOf(adding) : noLoad;
  const answers: ThreadReply[] = [];
  const startedWrites: StartedLongWrite[] = [];
  let activity: readonly Activity[] = [];
  try {
    assertSound(damage);
    const refusal = adding.length > 0 ? diskSpace.checkLoad(load) : undefined;
    db.exec("BEGIN IMMEDIATE");
    for (const call of group) {
      if (refusal !== undefined && !isRemoval(call)) {
        answers.push(toFailure(call.sequence, refusal));
        continue;
      }
      const outcome =
        call.request.kind === "write"
          ? await performWrite(dependencies, call, call.request)
          : performOther(dependencies, call.sequence, call.request);
      if ("write" in outcome) {
        startedWrites.push(outcome);
      } else {
        answers.push(outcome);
      }
    }
    db.exec("COMMIT");
    activity = writers.runs.activity.take();
    startedWrites.forEach(({ call, write }) => dependencies.longWrites.add(call, write));
  } catch (cause) {
    rollBack(db);
    writers.runs.forget();
    writers.runs.activity.take();
    damage.onFailure(cause);
    const isFull = diskSpace.isFull(cause, load);
    // A deletion frees space: it may use the reserved space, and is retried without the calls that add data and in
    // smaller steps.
    if (isFull && attempts < maxRetries && adding.length < group.length) {
      diskSpace.releaseReserve();
      writers.steps.shrink();
      return await writeGroup(dependencies, group, attempts + 1);
    }
    const failure = isFull ? diskSpace.failure() : cause;
    answers.length = 0;
    answers.push(...group.map(({ sequence }) => toFailure(sequence, failure)));
  }
  // An active long deletion that uses the reserved space returns it when it ends.
  if (adding.length < group.length && !dependencies.longWrites.isBusy) {
    writers.steps.grow();
    diskSpace.restoreReserve();
  }
  const buffers = group.flatMap(({ request }) =>
    request.kind === "ingest" ? [request.batch.bodies.buffer] : [],
  );
  post({ kind: "done", activity, answers, buffers }, buffers);
  return group.some(({ request }) => request.kind === "close") ? "closed" : "open";
}

/** A call whose result is posted when its long write ends. */
interface StartedLongWrite {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
}

/** @throws RequestError 503: the database is damaged; writing to it may lose data or cause more damage. */
function assertSound({ reason }: DamageWatch): void {
  if (reason !== undefined) {
    throw new RequestError(503, reason, 60);
  }
}

/** Stores a batch of runs, synchronously: it is the most frequent request, and its SQL is this engine's. */
function performOther(
  { writers }: WriterContext,
  sequence: number,
  request: Exclude<WriterRequest, { readonly kind: "write" }>,
): ThreadReply {
  return {
    kind: "answer",
    sequence,
    value:
      request.kind === "ingest"
        ? writers.runs.apply(request.tenantId, unpack(request.batch))
        : undefined,
  };
}

const unpack = (batch: GroupedBatch | PackedBatch): GroupedBatch =>
  "packed" in batch
    ? { ...(deserialize(batch.packed) as Omit<GroupedBatch, "bodies">), bodies: batch.bodies }
    : batch;

/** Performs one write of a resource. If it throws, only that write is rolled back. */
async function performWrite(
  { db, writers, damage, diskSpace }: WriterContext,
  call: WriterCall,
  request: WriterRequest & { readonly kind: "write" },
): Promise<ThreadReply | StartedLongWrite> {
  const { sequence } = call;
  db.exec("SAVEPOINT resource_write");
  try {
    writers.schemas.begin(request.proofs);
    const value = await invokeMethod(writers, request);
    const missingChecks = writers.schemas.needs;
    if (missingChecks.length > 0) {
      db.exec("ROLLBACK TO resource_write; RELEASE resource_write");
      writers.runs.forget();
      return { kind: "answer", sequence, value: { unchecked: missingChecks } satisfies Unchecked };
    }
    db.exec("RELEASE resource_write");
    return value instanceof LongWrite
      ? { call, write: value as LongWrite<unknown> }
      : { kind: "answer", sequence, value };
  } catch (cause) {
    damage.onFailure(cause);
    if (!db.inTransaction || diskSpace.isFull(cause, noLoad)) {
      throw cause; // SQLite has rolled back the whole group, or may not be able to continue it.
    }
    db.exec("ROLLBACK TO resource_write; RELEASE resource_write");
    writers.runs.forget();
    return toFailure(sequence, cause);
  }
}
