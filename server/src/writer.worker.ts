import { deserialize } from "node:v8";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf, RequestError } from "./errors.ts";
import { serverLimits } from "./options.ts";
import type { Activity } from "./store/activity.ts";
import type { PackedBatch, RunBatch } from "./store/run-record.ts";
import { LongWrite } from "./store/long-write.ts";
import { Checkpointer } from "./store/sqlite/checkpointer.ts";
import { isSqliteError } from "./store/sqlite/connection.ts";
import { DamageWatch } from "./store/sqlite/damage.ts";
import { DiskReserve } from "./store/sqlite/disk-reserve.ts";
import { LogSync } from "./store/sqlite/log-sync.ts";
import { LongWrites } from "./store/sqlite/long-writes.ts";
import { createWriters } from "./store/sqlite/nouns.ts";
import type { Unchecked } from "./store/sqlite/schema-proofs.ts";
import type { SqliteWriters } from "./store/sqlite/nouns.ts";
import { foldLog, openWriter } from "./store/sqlite/schema.ts";
import type { Connection } from "./store/sqlite/schema.ts";
import { invokeMethod, toFailure } from "./store/sqlite/thread-answer.ts";
import type { ThreadAnswer } from "./store/sqlite/thread-answer.ts";
import type { WriterCall, WriterMessage, WriterRequest } from "./store/sqlite/writer-protocol.ts";

// The one thread that writes. Requests that wait together share a transaction: a commit costs the
// same for one run as for ten thousand.

if (parentPort !== null) {
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const say: Desk["say"] = (message, memory) => port.postMessage(message, memory);
  try {
    const damage = new DamageWatch(path);
    const wasLeftOpen = damage.checkLog();
    const reserve = new DiskReserve(path);
    const { db, writers } = openWithReserve(path, reserve);
    const checkpointer = new Checkpointer(db, path);
    const sync = new LogSync(path);
    reserve.fill();
    if (wasLeftOpen) {
      damage.checkInBackground();
    }
    const close = async (): Promise<void> => {
      // Nothing works on the folder any more once the writer has ended: another server may take it.
      sync.close();
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
      assertSound: () => assertSound(damage),
      onFailure: (cause) => damage.onFailure(cause),
      makeRoom: (call, cause) =>
        isSqliteError(cause, "full") && isPlainDeletion(call) && reserve.release(),
      perform: (calls) => write([], () => calls),
      onSlice: () => {
        sync.touch();
        checkpointer.add(0);
      },
      onEnd: (call, answer, held) => {
        say({ kind: "done", activity: [], answers: [answer], memory: [] });
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
        writeGroup({ db, writers, damage, reserve, long, say }, group) === "closed"
      ) {
        say({ kind: "done", activity: [], answers: long.end(), memory: [] });
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
    say({ kind: "ready" });
  } catch (cause) {
    say({ kind: "failedToStart", reason: messageOf(cause) });
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
    if (!isFull(cause) || !reserve.release()) {
      throw cause;
    }
    return openWithReserve(path, reserve);
  }
}

/** The database, or the file of the key beside it. */
function isFull(cause: unknown): boolean {
  const isOfFile = cause instanceof Error && Reflect.get(cause, "code") === "ENOSPC";
  return isOfFile || isSqliteError(cause, "full");
}

/** Whether a request takes something away, or puts something else in its place. */
const isDeletion = ({ request }: WriterCall): boolean =>
  request.kind === "write" && /^(?:delete|remove|drop|sweep|update|set|un)/.test(request.method);

/** What of it is done is done: it may be begun once more. */
const isPlainDeletion = ({ request }: WriterCall): boolean =>
  request.kind === "write" && request.method.startsWith("delete");

const isOfExamples = ({ request }: WriterCall): boolean =>
  request.kind === "write" && /^(?:examples|largeExamples|datasets|uploads)$/.test(request.noun);

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

function sizeOf({ request }: WriterCall): number {
  return request.kind === "ingest" ? request.batch.bodies.byteLength : 0;
}

interface Desk {
  readonly db: Connection;
  readonly writers: SqliteWriters;
  readonly damage: DamageWatch;
  readonly reserve: DiskReserve;
  readonly long: LongWrites;
  readonly say: (message: WriterMessage, memory?: readonly ArrayBuffer[]) => void;
}

/** All of a group is written and then answered, or all of it failed. */
function writeGroup(desk: Desk, group: readonly WriterCall[]): "closed" | "open" {
  const { db, writers, damage, say } = desk;
  const answers: ThreadAnswer[] = [];
  const begun: BegunWrite[] = [];
  let activity: readonly Activity[] = [];
  try {
    assertSound(damage);
    db.exec("BEGIN IMMEDIATE");
    for (const call of group) {
      const outcome = perform(desk, call);
      if ("write" in outcome) {
        begun.push(outcome);
      } else {
        answers.push(outcome);
      }
    }
    db.exec("COMMIT");
    activity = writers.runs.activity.take();
    begun.forEach(({ call, write }) => desk.long.add(call, write));
  } catch (cause) {
    rollBack(db);
    writers.runs.forget();
    writers.runs.activity.take();
    damage.onFailure(cause);
    // A deletion makes room: it gets what was laid by for it, and the group is tried once more.
    if (isSqliteError(cause, "full") && group.some(isDeletion) && desk.reserve.release()) {
      return writeGroup(desk, group);
    }
    answers.length = 0;
    answers.push(...group.map(({ sequence }) => toFailure(sequence, cause)));
  }
  const memory = group.flatMap(({ request }) =>
    request.kind === "ingest" ? [request.batch.bodies.buffer] : [],
  );
  say({ kind: "done", activity, answers, memory }, memory);
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

function perform(desk: Desk, call: WriterCall): ThreadAnswer | BegunWrite {
  const { sequence, request } = call;
  switch (request.kind) {
    case "ingest": {
      const value = desk.writers.runs.apply(request.tenantId, unpack(request.batch));
      return { kind: "answer", sequence, value };
    }
    case "write":
      return performWrite(desk, call, request);
    case "close":
      return { kind: "answer", sequence, value: undefined };
  }
}

const unpack = (batch: RunBatch | PackedBatch): RunBatch =>
  "packed" in batch
    ? { ...(deserialize(batch.packed) as Omit<RunBatch, "bodies">), bodies: batch.bodies }
    : batch;

/** One write of a noun. What it throws undoes it alone. */
function performWrite(
  { db, writers, damage }: Desk,
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
    if (!db.inTransaction) {
      throw cause; // SQLite has undone the whole group: a full disk, say.
    }
    db.exec("ROLLBACK TO one; RELEASE one");
    writers.runs.forget();
    return toFailure(sequence, cause);
  }
}

function rollBack(db: Connection): void {
  if (db.inTransaction) {
    db.exec("ROLLBACK");
  }
}
