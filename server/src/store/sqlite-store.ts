import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Activity } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { currentReadScope } from "../runs/read-scope.ts";
import type { Readers, Store, Writers } from "./store.ts";
import type { Promised } from "../storage/promised.ts";
import { serverLimits } from "../model/options.ts";
import { isDiskFull } from "../storage/sqlite/disk-reserve.ts";
import { narrowFiles, prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import type { FolderLock } from "../storage/sqlite/folder-lock.ts";
import { isImmediate } from "./reader-protocol.ts";
import { ReadPool } from "./read-pool.ts";
import { ReaderThread } from "./reader-thread.ts";
import { databaseFile, openReader, readDefaultTenantId } from "../storage/sqlite/open-database.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { invokeMethod } from "../storage/thread-reply.ts";
import { prepareTextIndex, removeTextIndex } from "../runs/sqlite/text-index/text-index.ts";
import { TextIndexThread } from "../runs/sqlite/text-index/text-index-thread.ts";
import { hasHiddenTokens, tokenKeyFile } from "../storage/sqlite/token-keys.ts";
import { writeChecked } from "../datasets/examples/schema-guard.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { WriterThread } from "./writer-thread.ts";

export interface StoreOptions {
  /** Longest time for one query. */
  readonly queryTimeoutMs?: number;
}

/**
 * Opens the store in a folder, which is made when missing.
 *
 * @throws ServerError the folder can't be written, or another server works on it.
 */
export const openSqliteStore = (folder: string, options?: StoreOptions): Promise<Store> =>
  open(folder, options);

/** A store in a folder of its own, which goes away when the store is closed. */
export function openTemporaryStore(options?: StoreOptions): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  return open(folder, options, () => rmSync(folder, { recursive: true, force: true }));
}

async function open(
  folder: string,
  { queryTimeoutMs = serverLimits.queryMs }: StoreOptions = {},
  onClosed?: () => void,
): Promise<Store> {
  const path = prepareFolder(folder);
  const lock = lockFolder(path);
  try {
    const file = join(path, databaseFile);
    const writer = await WriterThread.start(file);
    const connection = openReader(file);
    prepareIndexWhereRoom(file);
    narrowFiles(path);
    warnOfLostKey(connection, path);
    const warnOnce = createDamageLog();
    const pool = new ReadPool(() => new ReaderThread(file, warnOnce), queryTimeoutMs);
    const textIndex = new TextIndexThread(file, (method, value) =>
      writer.write({ resource: "textIndex", method, args: [value] }),
    );
    return new SqliteStore({
      writer,
      connection,
      pool,
      textIndex,
      lock,
      ...(onClosed && { onClosed }),
    });
  } catch (cause) {
    lock.release();
    onClosed?.();
    throw cause;
  }
}

function warnOfLostKey(connection: Connection, folder: string): void {
  if (hasHiddenTokens(connection)) {
    process.emitWarning(
      `links were made with another key than ${join(folder, tokenKeyFile)} holds: they work, but their addresses can't be shown until that file is put back, or its line added, and the server started again`,
    );
  }
}

/** Where there is no room for the index of texts, not even after what lay there is thrown away, searches go without it. */
function prepareIndexWhereRoom(file: string): void {
  const prepare = (): boolean => {
    try {
      prepareTextIndex(file);
      return true;
    } catch (cause) {
      if (!isDiskFull(cause, dirname(file))) {
        throw cause;
      }
      return false;
    }
  };
  if (!prepare()) {
    removeTextIndex(file);
    if (!prepare()) {
      removeTextIndex(file);
      process.emitWarning(
        "the disk is full: there is no room for the text index, and searches take longer until the server is started with some",
      );
    }
  }
}

/** Logs each damaged item once. After some hundreds nothing more is logged: the disk is at fault then, not single runs. */
function createDamageLog(): (detail: string) => void {
  const logged = new Set<string>();
  return (detail) => {
    if (logged.size < damageLogMax && !logged.has(detail)) {
      logged.add(detail);
      process.emitWarning(detail);
    }
  };
}

const damageLogMax = 500;

interface Parts {
  readonly writer: WriterThread;
  readonly connection: Connection;
  readonly pool: ReadPool;
  readonly textIndex: TextIndexThread;
  readonly lock: FolderLock;
  /** What is done when all is closed. */
  readonly onClosed?: () => void;
}

/** Reads on the threads of the pool, but for keys of requests; writes on the writer's. */
class SqliteStore implements Store {
  readonly read: Promised<Readers>;
  readonly write: Promised<Writers>;
  readonly defaultTenantId: string;
  readonly #parts: Parts;
  /** Checks schemas; its threads start when they are needed. */
  readonly #work = new WorkThreads();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { connection, writer, pool } = parts;
    this.#parts = parts;
    this.defaultTenantId = readDefaultTenantId(connection);
    const readers = { tenants: new TenantReader(connection) };
    this.read = callsOf<Readers>(async (resource, method, args) =>
      isImmediate(resource, method)
        ? invokeMethod(readers, { resource, method, args })
        : pool.read({ resource, method, args }, currentReadScope()),
    );
    this.write = callsOf<Writers>((resource, method, args) =>
      writeChecked(this.#work, String(args[0]), (proofs) =>
        writer.write({ resource, method, args }, proofs),
      ),
    );
  }

  get readOnlyReason(): string | undefined {
    return this.#parts.writer.readOnlyReason;
  }

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#parts.writer.ingest(tenantId, batch);
  }

  onActivity(listener: (activity: readonly Activity[]) => void): void {
    this.#parts.writer.onActivity = listener;
  }

  endReads(): void {
    this.#parts.pool.end();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { connection, writer, pool, textIndex, lock, onClosed } = this.#parts;
    // The readers first: the writer's last act is to fold the write-ahead log into the database.
    connection.close();
    await Promise.all([pool.close(), textIndex.close(), this.#work.close()]);
    await writer.close();
    lock.release();
    onClosed?.();
  }
}

type Invoke = (resource: string, method: string, args: readonly unknown[]) => Promise<unknown>;

/** Every method of every resource as a call by its names; which there are is for the types to say. */
function callsOf<Resources>(invoke: Invoke): Promised<Resources> {
  const methodsOf = (resource: string): object =>
    new Proxy(
      {},
      {
        get:
          (_target, method) =>
          (...args: readonly unknown[]) =>
            invoke(resource, String(method), args),
      },
    );
  const resources = new Map<string, object>();
  return new Proxy(
    {},
    {
      get: (_target, name) => {
        const resource = String(name);
        const known = resources.get(resource) ?? methodsOf(resource);
        resources.set(resource, known);
        return known;
      },
    },
  ) as Promised<Resources>;
}
