import { dirname } from "node:path";
import { deserialize } from "node:v8";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { VersionAuthor } from "./datasets/version-author.ts";
import { addCreatedId } from "./audit/audit-target.ts";
import { messageOf, RequestError } from "./model/errors.ts";
import { serverLimits } from "./model/options.ts";
import { loadLibraryPrices, PricesNotLoadedError } from "./prices/library-prices.ts";
import type { Activity } from "./runs/activity.ts";
import type { PackedBatch } from "./runs/run-record.ts";
import type { GroupedBatch } from "./runs/sqlite/post-rows.ts";
import { LongWrite } from "./storage/long-write.ts";
import { Checkpointer } from "./storage/sqlite/checkpointer.ts";
import { DamageWatch } from "./storage/sqlite/damage.ts";
import { DiskReserve, isDiskFull } from "./storage/sqlite/disk-reserve.ts";
import { DiskSpace, noAddedSize } from "./storage/sqlite/disk-space.ts";
import type { AddedSize } from "./storage/sqlite/disk-space.ts";
import { LogSync } from "./storage/sqlite/log-sync.ts";
import { LongWrites } from "./store/long-writes.ts";
import { createWriters } from "./store/repositories.ts";
import type { MissingChecks } from "./datasets/examples/schemas/schema-checks.ts";
import type { SqliteWriters } from "./store/repositories.ts";
import { openWriter } from "./store/schema.ts";
import { MoveWriteGuard } from "./store/move-write-guard.ts";
import { rollBack } from "./storage/sqlite/connection.ts";
import { checkpointAndTruncate } from "./storage/sqlite/write-ahead-log.ts";
import type { Connection } from "./storage/sqlite/connection.ts";
import { TaskQueue } from "./storage/task-queue.ts";
import { invokeMethod, toFailure } from "./storage/thread-reply.ts";
import type { ThreadReply } from "./storage/thread-reply.ts";
import type { WriterCall, WriterMessage, WriterRequest } from "./store/writer-protocol.ts";
import { forwardWarnings } from "./storage/thread-warnings.ts";

// The only thread that writes to the database. Requests that wait at the same time share a transaction, because a
// commit costs the same for one run as for ten thousand.

if (parentPort !== null) {
  forwardWarnings("writer");
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const post: WriterContext["post"] = (message, buffers) => port.postMessage(message, buffers);
  try {
    const damageWatch = new DamageWatch(path);
    const wasLeftOpen = damageWatch.checkLog();
    const { db, writers } = openWithReserve(path, new DiskReserve(path));
    const checkpointer = new Checkpointer(db, path);
    const logSync = new LogSync(path);
    const diskSpace = new DiskSpace(db, path, {
      onChange: (readOnlyReason) => post({ kind: "diskSpace", readOnlyReason }),
    });
    const moveGuard = new MoveWriteGuard(db);
    if (wasLeftOpen) {
      damageWatch.checkInBackground();
    }
    const close = async (): Promise<void> => {
      // Stop everything that uses the folder before this thread ends, because another server may open the folder then.
      logSync.close();
      diskSpace.close();
      await damageWatch.close();
      await checkpointer.close();
      try {
        checkpointAndTruncate(db);
      } catch {
        // The file of the write-ahead log stays, and the next start recovers it.
      }
      db.close();
      port.close();
    };
    // Transactions never overlap: a group of requests, or a slice of a long write, begins after the previous
    // transaction was committed.
    const taskQueue = new TaskQueue();
    const longWrites = new LongWrites({
      db,
      beforeSlice: (call, isUndo) => {
        writers.author.author = authorOf(call);
        assertUndamaged(damageWatch);
        const refusal =
          (isUndo || canOnlyFreeSpace(call)
            ? undefined
            : diskSpace.checkSpaceFor(sliceAddedSize)) ?? moveGuard.check();
        if (refusal !== undefined) {
          throw refusal;
        }
      },
      onFailure: (cause) => damageWatch.onFailure(cause),
      freeSpace: (cause) => {
        const isFull = diskSpace.handleIfFull(cause, noAddedSize);
        if (isFull) {
          diskSpace.releaseReserve();
          writers.stepSize.shrink();
        }
        return isFull;
      },
      canRestart: (call) => isRestartable(call),
      toReportedCause: (call, cause) =>
        diskSpace.handleIfFull(cause, canOnlyFreeSpace(call) ? noAddedSize : sliceAddedSize)
          ? diskSpace.createFailure()
          : cause,
      runCalls: (calls) => taskQueue.addNext(() => write([], () => calls)),
      enqueueSlice: (slice) => taskQueue.add(slice),
      isLowOnSpace: () => diskSpace.isLow,
      onSlice: (call) => {
        logSync.recordCommit();
        checkpointer.addBytes(sliceAddedSize.bytes);
        if (canOnlyFreeSpace(call)) {
          writers.stepSize.grow();
          diskSpace.shortenLog();
        }
      },
      onEnd: (call, reply, deferredCalls) => {
        if (canOnlyFreeSpace(call)) {
          diskSpace.restoreReserve();
        }
        post({ kind: "done", activity: [], replies: [reply], buffers: [] });
        taskQueue.addNext(() => write([call], () => deferredCalls));
      },
    });
    /**
     * Runs calls in one transaction, then updates the files of the database as needed. `completed` contains calls of
     * earlier transactions: content that they deleted or replaced may have to be erased from the write-ahead log.
     */
    const write = async (
      completed: readonly WriterCall[],
      takeCalls: () => readonly WriterCall[],
    ): Promise<void> => {
      const group = takeCalls().filter((call) => !longWrites.deferIfConflicting(call));
      // Measure the calls before writing: the payload buffers are transferred back with the results, after which
      // their length is 0 in this thread.
      const bytes = group.reduce((sum, call) => sum + sizeOf(call), 0);
      if (
        group.length > 0 &&
        (await writeGroup(
          { db, writers, damageWatch, diskSpace, longWrites, moveGuard, post },
          group,
        )) === "closed"
      ) {
        post({ kind: "done", activity: [], replies: longWrites.abortAll(), buffers: [] });
        void close();
        return;
      }
      logSync.recordCommit();
      checkpointer.addBytes(bytes);
      const deletions = [...completed, ...group].filter(mustEraseOldContent);
      if (deletions.length > 0) {
        checkpointer.scheduleErase(deletions.some(changesExamples));
      }
    };
    const arrivedCalls: WriterCall[] = [];
    port.on("message", (call: WriterCall) => {
      arrivedCalls.push(call);
      taskQueue.add(() => write([], () => takeGroup(port, arrivedCalls)));
    });
    post({ kind: "ready", readOnlyReason: diskSpace.reason });
  } catch (cause) {
    post({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/**
 * Opens the database, which writes a few pages. If the disk is too full for that, the reserve file is deleted first.
 */
function openWithReserve(
  path: string,
  reserve: DiskReserve,
): { readonly db: Connection; readonly writers: SqliteWriters } {
  try {
    const db = openWriter(path);
    return { db, writers: createWriters(db) };
  } catch (cause) {
    // A full disk can prevent opening the database, the index of its write-ahead log, or the file of token keys.
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

const authorOf = ({ request }: WriterCall): VersionAuthor | null =>
  request.kind === "write" ? (request.author ?? null) : null;

/** Whether a request can only free disk space: such requests are accepted on a full disk. */
const canOnlyFreeSpace = ({ request }: WriterCall): boolean =>
  request.kind === "close" ||
  (request.kind === "write" &&
    // Retention rules delete data; the text index only records which rows it has added and removed, in a few bytes.
    (request.resource === "retention" ||
      request.resource === "textIndex" ||
      /^(?:delete|remove|drop|sweep|clear|unshare|revoke)/.test(request.method)));

/** Whether a request may change data, and not only what is computed from it. */
const mayChange = ({ request }: WriterCall): boolean =>
  request.kind === "ingest" ||
  (request.kind === "write" && request.resource !== "textIndex" && request.resource !== "metrics");

/** Whether a request deletes or replaces data, so that its old content must be erased from the write-ahead log. */
const mustEraseOldContent = ({ request }: WriterCall): boolean =>
  request.kind === "write" && /^(?:delete|remove|drop|sweep|update|set|un)/.test(request.method);

/** Whether a long write can be restarted after some slices were committed: repeating a deletion is harmless. */
const isRestartable = ({ request }: WriterCall): boolean =>
  request.kind === "write" && request.method.startsWith("delete");

const changesExamples = ({ request }: WriterCall): boolean =>
  request.kind === "write" &&
  (request.resource === "examples" ||
    request.resource === "largeExamples" ||
    request.resource === "datasets" ||
    request.resource === "uploads");

/**
 * Takes the requests that have arrived and those that wait at the port, up to a size limit; the others are left for
 * the next transaction. Returns an empty list if an earlier transaction took all requests.
 */
function takeGroup(port: MessagePort, arrivedCalls: WriterCall[]): readonly WriterCall[] {
  const group: WriterCall[] = [];
  let bytes = 0;
  while (bytes < serverLimits.groupBytes) {
    const nextCall =
      arrivedCalls.shift() ?? (receiveMessageOnPort(port)?.message as WriterCall | undefined);
    if (nextCall === undefined) {
      break;
    }
    group.push(nextCall);
    bytes += sizeOf(nextCall);
  }
  return group;
}

/**
 * Estimates, before calls run, the most that they can add to the database. Each call other than an ingest is estimated
 * as {@link smallAddedSize}.
 */
function estimateAddedSize(calls: readonly WriterCall[]): AddedSize {
  let bytes = 0;
  let rowCount = 0;
  for (const { request } of calls) {
    if (request.kind === "ingest") {
      const { batch } = request;
      const packedBytes = "packed" in batch ? batch.packed.byteLength : 0;
      bytes += batch.bodies.byteLength + packedBytes;
      rowCount += "packed" in batch ? packedBytes / minPackedRowBytes : batch.records.length;
    } else {
      bytes += smallAddedSize.bytes;
      rowCount += smallAddedSize.rowCount;
    }
  }
  return { bytes, rowCount };
}

const smallAddedSize: AddedSize = { bytes: 262_144, rowCount: 20 };
/** Minimum bytes of a row in a packed batch. */
const minPackedRowBytes = 400;
/** The most that a slice of a long write adds to the database. */
const sliceAddedSize: AddedSize = { bytes: serverLimits.examplesPartChars, rowCount: 200 };

function sizeOf({ request }: WriterCall): number {
  return request.kind === "ingest" ? request.batch.bodies.byteLength : 0;
}

interface WriterContext {
  readonly db: Connection;
  readonly writers: SqliteWriters;
  readonly damageWatch: DamageWatch;
  readonly diskSpace: DiskSpace;
  readonly longWrites: LongWrites;
  readonly moveGuard: MoveWriteGuard;
  readonly post: (message: WriterMessage, buffers?: readonly ArrayBuffer[]) => void;
}

const maxRetries = 4;

/**
 * Writes a group of calls in one transaction and posts their results. All calls of the group are committed, or none.
 */
async function writeGroup(
  dependencies: WriterContext,
  group: readonly WriterCall[],
  attempts = 0,
): Promise<"closed" | "open"> {
  const { db, writers, damageWatch, diskSpace, moveGuard, post } = dependencies;
  const addingCalls = group.filter((call) => !canOnlyFreeSpace(call));
  const addedSize = addingCalls.length > 0 ? estimateAddedSize(addingCalls) : noAddedSize;
  const replies: ThreadReply[] = [];
  const startedWrites: StartedLongWrite[] = [];
  let activity: readonly Activity[] = [];
  try {
    assertUndamaged(damageWatch);
    const refusal = addingCalls.length > 0 ? diskSpace.checkSpaceFor(addedSize) : undefined;
    db.exec("BEGIN IMMEDIATE");
    const moveRefusal = moveGuard.check();
    for (const call of group) {
      const refused =
        (canOnlyFreeSpace(call) ? undefined : refusal) ??
        (mayChange(call) ? moveRefusal : undefined);
      if (refused !== undefined) {
        replies.push(toFailure(call.sequence, refused));
        continue;
      }
      const replyOrLongWrite =
        call.request.kind === "write"
          ? await performWrite(dependencies, call, call.request)
          : performIngestOrClose(dependencies, call.sequence, call.request);
      if ("write" in replyOrLongWrite) {
        startedWrites.push(replyOrLongWrite);
      } else {
        replies.push(replyOrLongWrite);
      }
    }
    db.exec("COMMIT");
    activity = writers.runs.activity.takeCounts();
    startedWrites.forEach(({ call, write }) => dependencies.longWrites.add(call, write));
  } catch (cause) {
    rollBack(db);
    writers.runs.clearCaches();
    writers.runs.activity.takeCounts();
    // The public prices are loaded when a run first needs a price: loading them at the start of this thread would make
    // the start a third longer.
    if (cause instanceof PricesNotLoadedError && (await arePricesLoadable())) {
      return await writeGroup(dependencies, group, attempts);
    }
    damageWatch.onFailure(cause);
    const isFull = diskSpace.handleIfFull(cause, addedSize);
    // A deletion frees space: it may use the space of the reserve file, and is retried in smaller steps and without
    // the calls that add data.
    if (isFull && attempts < maxRetries && addingCalls.length < group.length) {
      diskSpace.releaseReserve();
      writers.stepSize.shrink();
      return await writeGroup(dependencies, group, attempts + 1);
    }
    const failure = isFull ? diskSpace.createFailure() : cause;
    replies.length = 0;
    replies.push(...group.map(({ sequence }) => toFailure(sequence, failure)));
  }
  // An active long deletion that uses the space of the reserve file restores the file itself when it ends.
  if (addingCalls.length < group.length && !dependencies.longWrites.isBusy) {
    writers.stepSize.grow();
    diskSpace.restoreReserve();
  }
  const buffers = group.flatMap(({ request }) =>
    request.kind === "ingest" ? [request.batch.bodies.buffer] : [],
  );
  post({ kind: "done", activity, replies, buffers }, buffers);
  return group.some(({ request }) => request.kind === "close") ? "closed" : "open";
}

/** Loads the public prices. If that fails, the calls that need them fail with the error of the lookup. */
const arePricesLoadable = (): Promise<boolean> =>
  loadLibraryPrices().then(
    () => true,
    () => false,
  );

/** A call that started a long write. Its result is posted when the long write ends. */
interface StartedLongWrite {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
}

/** @throws RequestError 503: the database is damaged; writing to it may lose data or cause more damage. */
function assertUndamaged({ reason }: DamageWatch): void {
  if (reason !== undefined) {
    throw new RequestError(503, reason, 60);
  }
}

/**
 * Stores a batch of runs; a request to close stores nothing. Ingest is synchronous, because it is the most frequent
 * request and its SQL is written for SQLite only.
 */
function performIngestOrClose(
  { writers }: WriterContext,
  sequence: number,
  request: Exclude<WriterRequest, { readonly kind: "write" }>,
): ThreadReply {
  return {
    kind: "result",
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
  { db, writers, damageWatch, diskSpace }: WriterContext,
  call: WriterCall,
  request: WriterRequest & { readonly kind: "write" },
): Promise<ThreadReply | StartedLongWrite> {
  const { sequence } = call;
  db.exec("SAVEPOINT resource_write");
  try {
    writers.author.author = authorOf(call);
    writers.schemas.begin(request.checkResults);
    const value = await invokeMethod(writers, request);
    const missingChecks = writers.schemas.missing;
    if (missingChecks.length > 0) {
      db.exec("ROLLBACK TO resource_write; RELEASE resource_write");
      writers.runs.clearCaches();
      return { kind: "result", sequence, value: { missingChecks } satisfies MissingChecks };
    }
    if (request.audit !== undefined) {
      await writers.audit.record(request.audit.tenantId, addCreatedId(request.audit, value));
    }
    db.exec("RELEASE resource_write");
    return value instanceof LongWrite
      ? { call, write: value as LongWrite<unknown> }
      : { kind: "result", sequence, value };
  } catch (cause) {
    damageWatch.onFailure(cause);
    if (
      cause instanceof PricesNotLoadedError ||
      !db.inTransaction ||
      diskSpace.handleIfFull(cause, noAddedSize)
    ) {
      // The transaction can't continue: prices must be loaded first, SQLite has rolled it back, or the disk is full.
      throw cause;
    }
    db.exec("ROLLBACK TO resource_write; RELEASE resource_write");
    writers.runs.clearCaches();
    return toFailure(sequence, cause);
  }
}
