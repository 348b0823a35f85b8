import { dirname } from "node:path";
import { deserialize } from "node:v8";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf, RequestError } from "./model/errors.ts";
import { serverLimits } from "./model/options.ts";
import type { Activity } from "./runs/activity.ts";
import type { PackedBatch, RunBatch } from "./runs/run-record.ts";
import { LongWrite } from "./storage/long-write.ts";
import { Checkpointer } from "./storage/sqlite/checkpointer.ts";
import { DamageWatch } from "./storage/sqlite/damage.ts";
import { DiskReserve, isDiskFull } from "./storage/sqlite/disk-reserve.ts";
import { DiskSpace, noLoad } from "./storage/sqlite/disk-space.ts";
import type { AddedLoad } from "./storage/sqlite/disk-space.ts";
import { LogSync } from "./storage/sqlite/log-sync.ts";
import { LongWrites } from "./store/long-writes.ts";
import { createWriters } from "./store/repositories.ts";
import type { Unchecked } from "./datasets/examples/sqlite/schema-proofs.ts";
import type { SqliteWriters } from "./store/repositories.ts";
import { openWriter } from "./store/schema.ts";
import { rollBack } from "./storage/sqlite/connection.ts";
import { foldLog } from "./storage/sqlite/write-ahead-log.ts";
import type { Connection } from "./storage/sqlite/connection.ts";
import { invokeMethod, toFailure } from "./storage/thread-reply.ts";
import type { ThreadAnswer } from "./storage/thread-reply.ts";
import type { WriterCall, WriterMessage, WriterRequest } from "./store/writer-protocol.ts";

// The one thread that writes. Requests that wait together share a transaction: a commit costs the
// same for one run as for ten thousand.

if (parentPort !== null) {
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const post: WriterContext["post"] = (message, memory) => port.postMessage(message, memory);
  try {
    const damage = new DamageWatch(path);
    const wasLeftOpen = damage.checkLog();
    const { db, writers } = openWithReserve(path, new DiskReserve(path));
    const checkpointer = new Checkpointer(db, path);
    const sync = new LogSync(path);
    const room = new DiskSpace(db, path, {
      onChange: (readOnlyReason) => post({ kind: "room", readOnlyReason }),
    });
    if (wasLeftOpen) {
      damage.checkInBackground();
    }
    const close = async (): Promise<void> => {
      // Nothing works on the folder any more once the writer has ended: another server may take it.
      sync.close();
      room.close();
      await damage.close();
      await checkpointer.close();
      try {
        foldLog(db);
      } catch {
        // It stays beside the database, and is read from there the next time.
      }
      db.close();
      port.close();
    };
    const long = new LongWrites({
      db,
      beforeSlice: (call, isUndo) => {
        assertSound(damage);
        const refusal = isUndo || isRemoval(call) ? undefined : room.refuse(sliceLoad);
        if (refusal !== undefined) {
          throw refusal;
        }
      },
      onFailure: (cause) => damage.onFailure(cause),
      makeRoom: (cause) => {
        const isFull = room.isFull(cause, noLoad);
        if (isFull) {
          room.giveReserve();
          writers.steps.shrink();
        }
        return isFull;
      },
      mayBeginAnew: (call) => isPlainDeletion(call),
      causeOf: (call, cause) =>
        room.isFull(cause, isRemoval(call) ? noLoad : sliceLoad) ? room.failure() : cause,
      perform: (calls) => write([], () => calls),
      isShortOfRoom: () => room.isShort,
      onSlice: (call) => {
        sync.touch();
        checkpointer.add(sliceLoad.bytes);
        if (isRemoval(call)) {
          writers.steps.grow();
          room.shortenLog();
        }
      },
      onEnd: (call, answer, held) => {
        if (isRemoval(call)) {
          room.takeReserve();
        }
        post({ kind: "done", activity: [], answers: [answer], memory: [] });
        write([call], () => held);
      },
    });
    /** Has calls written, and then sees to the files; `done` are those that were written before. */
    const write = (done: readonly WriterCall[], take: () => readonly WriterCall[]): void => {
      const group = take().filter((call) => !long.hold(call));
      // Before they are written: the memory of payloads is given back with the answers, and has no size then.
      const bytes = group.reduce((sum, call) => sum + sizeOf(call), 0);
      if (
        group.length > 0 &&
        writeGroup({ db, writers, damage, room, long, post }, group) === "closed"
      ) {
        post({ kind: "done", activity: [], answers: long.end(), memory: [] });
        void close();
        return;
      }
      sync.touch();
      checkpointer.add(bytes);
      const deletions = [...done, ...group].filter(isDeletion);
      if (deletions.length > 0) {
        checkpointer.erase(deletions.some(isOfExamples));
      }
    };
    port.on("message", (first: WriterCall) => write([], () => takeGroup(port, first)));
    post({ kind: "ready", readOnlyReason: room.reason });
  } catch (cause) {
    post({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/** To open a database is to write a little; where there is no room for that, what was laid by is given up. */
function openWithReserve(
  path: string,
  reserve: DiskReserve,
): { readonly db: Connection; readonly writers: SqliteWriters } {
  try {
    const db = openWriter(path);
    return { db, writers: createWriters(db) };
  } catch (cause) {
    // The database, its log's index, or the file of the key beside it.
    if (!isDiskFull(cause, dirname(path))) {
      throw cause;
    }
    if (!reserve.release()) {
      throw new Error(
        `the disk is full (${messageOf(cause)}): make some room on it, 1 MiB is enough to start and to delete`,
        { cause },
      );
    }
    return openWithReserve(path, reserve);
  }
}

/** Whether a request only takes something away: what is done on a full disk too. */
const isRemoval = ({ request }: WriterCall): boolean =>
  request.kind === "close" ||
  (request.kind === "write" &&
    // Rules of retention delete, and the text index tells what it has taken in and taken out: a few bytes.
    (/^(?:retention|textIndex)$/.test(request.resource) ||
      /^(?:delete|remove|drop|sweep|clear|unshare|revoke)/.test(request.method)));

/** Whether a request takes something away, or puts something else in its place. */
const isDeletion = ({ request }: WriterCall): boolean =>
  request.kind === "write" && /^(?:delete|remove|drop|sweep|update|set|un)/.test(request.method);

/** What of it is done is done: it may be begun once more. */
const isPlainDeletion = ({ request }: WriterCall): boolean =>
  request.kind === "write" && request.method.startsWith("delete");

const isOfExamples = ({ request }: WriterCall): boolean =>
  request.kind === "write" &&
  /^(?:examples|largeExamples|datasets|uploads)$/.test(request.resource);

/** The request that came, and those that wait behind it: they share a transaction. */
function takeGroup(port: MessagePort, first: WriterCall): readonly WriterCall[] {
  const group = [first];
  let bytes = sizeOf(first);
  while (bytes < serverLimits.groupBytes) {
    const next = receiveMessageOnPort(port)?.message as WriterCall | undefined;
    if (next === undefined) {
      break;
    }
    group.push(next);
    bytes += sizeOf(next);
  }
  return group;
}

/** The most that calls can add, estimated before they run. Most calls count as small. */
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
/** Of a packed batch each row has so much at the least. */
const packedRowBytes = 400;
/** Of a slice of a long write. */
const sliceLoad: AddedLoad = { bytes: serverLimits.examplesPartChars, rows: 200 };

function sizeOf({ request }: WriterCall): number {
  return request.kind === "ingest" ? request.batch.bodies.byteLength : 0;
}

interface WriterContext {
  readonly db: Connection;
  readonly writers: SqliteWriters;
  readonly damage: DamageWatch;
  readonly room: DiskSpace;
  readonly long: LongWrites;
  readonly post: (message: WriterMessage, memory?: readonly ArrayBuffer[]) => void;
}

const attemptsMax = 4;

/** All of a group is written and then answered, or all of it failed. */
function writeGroup(
  dependencies: WriterContext,
  group: readonly WriterCall[],
  attempts = 0,
): "closed" | "open" {
  const { db, writers, damage, room, post } = dependencies;
  const adding = group.filter((call) => !isRemoval(call));
  const load = adding.length > 0 ? loadOf(adding) : noLoad;
  const answers: ThreadAnswer[] = [];
  const begun: BegunWrite[] = [];
  let activity: readonly Activity[] = [];
  try {
    assertSound(damage);
    const refusal = adding.length > 0 ? room.refuse(load) : undefined;
    db.exec("BEGIN IMMEDIATE");
    for (const call of group) {
      if (refusal !== undefined && !isRemoval(call)) {
        answers.push(toFailure(call.sequence, refusal));
        continue;
      }
      const outcome = perform(dependencies, call);
      if ("write" in outcome) {
        begun.push(outcome);
      } else {
        answers.push(outcome);
      }
    }
    db.exec("COMMIT");
    activity = writers.runs.activity.take();
    begun.forEach(({ call, write }) => dependencies.long.add(call, write));
  } catch (cause) {
    rollBack(db);
    writers.runs.forget();
    writers.runs.activity.take();
    damage.onFailure(cause);
    const isFull = room.isFull(cause, load);
    // A deletion makes room: it gets what was laid by for it, and is tried again, without what adds and in smaller steps.
    if (isFull && attempts < attemptsMax && adding.length < group.length) {
      room.giveReserve();
      writers.steps.shrink();
      return writeGroup(dependencies, group, attempts + 1);
    }
    const failure = isFull ? room.failure() : cause;
    answers.length = 0;
    answers.push(...group.map(({ sequence }) => toFailure(sequence, failure)));
  }
  // A long deletion that has it gives it back when it is done.
  if (adding.length < group.length && !dependencies.long.isBusy) {
    writers.steps.grow();
    room.takeReserve();
  }
  const memory = group.flatMap(({ request }) =>
    request.kind === "ingest" ? [request.batch.bodies.buffer] : [],
  );
  post({ kind: "done", activity, answers, memory }, memory);
  return group.some(({ request }) => request.kind === "close") ? "closed" : "open";
}

/** A call that is answered later. */
interface BegunWrite {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
}

/** @throws RequestError 503: what is written into a damaged database may be lost, or damage more of it. */
function assertSound({ reason }: DamageWatch): void {
  if (reason !== undefined) {
    throw new RequestError(503, reason, 60);
  }
}

function perform(dependencies: WriterContext, call: WriterCall): ThreadAnswer | BegunWrite {
  const { sequence, request } = call;
  switch (request.kind) {
    case "ingest": {
      const value = dependencies.writers.runs.apply(request.tenantId, unpack(request.batch));
      return { kind: "answer", sequence, value };
    }
    case "write":
      return performWrite(dependencies, call, request);
    case "close":
      return { kind: "answer", sequence, value: undefined };
  }
}

const unpack = (batch: RunBatch | PackedBatch): RunBatch =>
  "packed" in batch
    ? { ...(deserialize(batch.packed) as Omit<RunBatch, "bodies">), bodies: batch.bodies }
    : batch;

/** One write of a resource. What it throws undoes it alone. */
function performWrite(
  { db, writers, damage, room }: WriterContext,
  call: WriterCall,
  request: WriterRequest & { readonly kind: "write" },
): ThreadAnswer | BegunWrite {
  const { sequence } = call;
  db.exec("SAVEPOINT one");
  try {
    writers.schemas.begin(request.proofs);
    const value = invokeMethod(writers, request);
    const unchecked = writers.schemas.needs;
    if (unchecked.length > 0) {
      db.exec("ROLLBACK TO one; RELEASE one");
      writers.runs.forget();
      return { kind: "answer", sequence, value: { unchecked } satisfies Unchecked };
    }
    db.exec("RELEASE one");
    return value instanceof LongWrite
      ? { call, write: value as LongWrite<unknown> }
      : { kind: "answer", sequence, value };
  } catch (cause) {
    damage.onFailure(cause);
    if (!db.inTransaction || room.isFull(cause, noLoad)) {
      throw cause; // SQLite has undone the whole group, or may not be able to go on with it.
    }
    db.exec("ROLLBACK TO one; RELEASE one");
    writers.runs.forget();
    return toFailure(sequence, cause);
  }
}
