import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { ActivityListener } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { RequestScope } from "../http/request-scope.ts";
import type { ReadScope, ScopedRequest } from "../http/request-scope.ts";
import type { Readers, Writers } from "./repositories.ts";
import type { Store } from "./store.ts";
import type { Promised } from "../storage/promised.ts";
import { serverLimits } from "../model/options.ts";
import { isDiskFull } from "../storage/sqlite/disk-reserve.ts";
import { restrictFiles, prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import type { FolderLock } from "../storage/sqlite/folder-lock.ts";
import { IdleReads } from "./idle-reads.ts";
import { isImmediate } from "./reader-protocol.ts";
import type { ReaderData } from "./reader-protocol.ts";
import { ReadPool } from "./read-pool.ts";
import { ReaderThread } from "./reader-thread.ts";
import type { ReaderSource } from "./reader-thread.ts";
import {
  databaseFileName,
  openReader,
  readDefaultTenantId,
} from "../storage/sqlite/open-database.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import { invokeMethod } from "../storage/thread-reply.ts";
import { prepareTextIndex, removeTextIndex } from "../runs/sqlite/text-index/text-index.ts";
import { startMetricThread } from "../metrics/metric-thread.ts";
import { startTextIndexThread } from "../runs/sqlite/text-index/text-index-thread.ts";
import { hasHiddenTokens, tokenKeyFileName } from "../storage/sqlite/token-keys.ts";
import { writeChecked } from "../datasets/examples/schemas/schema-guard.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { createResourceProxy } from "./resource-proxy.ts";
import { ScopedStore } from "./scoped-store.ts";
import { originOfClient, originOfRequest, writeFrom } from "./writer-origin.ts";
import type { WriterOrigin } from "./writer-origin.ts";
import { WriterThread } from "./writer-thread.ts";

/** Options of the functions that open a store. */
export interface StoreOptions {
  /** Maximum duration of one query, in milliseconds. */
  readonly queryTimeoutMs?: number;
}

/**
 * Opens the store in a folder, which is created if it does not exist.
 *
 * @throws ServerError the folder is not writable, or another server uses it.
 */
export const openSqliteStore = (folder: string, options?: StoreOptions): Promise<Store> =>
  openStore(folder, options);

/** Opens a store in a temporary folder, which is deleted when the store is closed. */
export function openTemporaryStore(options?: StoreOptions): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  return openStore(folder, options, () => rmSync(folder, { recursive: true, force: true }));
}

async function openStore(
  folder: string,
  { queryTimeoutMs = serverLimits.queryMs }: StoreOptions = {},
  onClosed?: () => void,
): Promise<Store> {
  const folderPath = prepareFolder(folder);
  const lock = lockFolder(folderPath);
  try {
    const databasePath = join(folderPath, databaseFileName);
    const writer = await WriterThread.start(databasePath);
    const connection = openReader(databasePath);
    prepareIndexIfSpace(databasePath);
    restrictFiles(folderPath);
    warnOfUnknownKey(connection, folderPath);
    const warnOnce = createDamageLog();
    const pool = new ReadPool(
      () => new ReaderThread(createSqliteSource(databasePath), warnOnce),
      queryTimeoutMs,
    );
    const backgroundThreads = [
      startTextIndexThread(databasePath, (method, value) =>
        writer.write({ resource: "textIndex", method, args: [value] }),
      ),
      startMetricThread(databasePath, (computed) =>
        writer.write({ resource: "metrics", method: "store", args: [computed] }),
      ),
    ];
    return new SqliteStore({
      writer,
      connection,
      pool,
      backgroundThreads,
      lock,
      ...(onClosed && { onClosed }),
    });
  } catch (cause) {
    lock.release();
    onClosed?.();
    throw cause;
  }
}

const createSqliteSource = (path: string): ReaderSource => ({
  file: "reader.worker.js",
  createData: (cancelFlag): ReaderData => ({ path, cancelFlag }),
  // A running query blocks the thread, so it could not receive the message. It reads the shared flag instead.
  getsCancelMessage: false,
});

function warnOfUnknownKey(connection: Connection, folder: string): void {
  if (hasHiddenTokens(connection)) {
    process.emitWarning(
      `some share links were encrypted with a key that ${join(folder, tokenKeyFileName)} does not contain: the links work, but their URLs can't be shown. Restore that file, or add the missing line to it, and restart the server`,
    );
  }
}

/**
 * Prepares the text index. If the disk is too full, even after deleting an old index, searches run without an index.
 */
function prepareIndexIfSpace(file: string): void {
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
        "the disk is full: there is no space for the text index, and searches are slower. Free some space and restart the server",
      );
    }
  }
}

/**
 * Creates a function that logs each damaged item once. It stops after {@link maxLoggedDamages} items, because that
 * many mean that the disk itself is failing.
 */
function createDamageLog(): (detail: string) => void {
  const logged = new Set<string>();
  return (detail) => {
    if (logged.size < maxLoggedDamages && !logged.has(detail)) {
      logged.add(detail);
      process.emitWarning(detail);
    }
  };
}

const maxLoggedDamages = 500;

interface StoreComponents {
  readonly writer: WriterThread;
  readonly connection: Connection;
  readonly pool: ReadPool;
  readonly backgroundThreads: readonly { close(): Promise<void> }[];
  readonly lock: FolderLock;
  /** Called when the store is closed. */
  readonly onClosed?: () => void;
}

/**
 * The store of a data folder. Queries run on reader threads, except for those that authorize requests; writes run on
 * the writer thread.
 */
class SqliteStore implements Store {
  readonly read: Promised<Readers>;
  readonly write: Promised<Writers>;
  readonly defaultTenantId: string;
  readonly linkSecret = undefined;
  readonly pools = {};
  readonly #parts: StoreComponents;
  readonly #immediateReaders: { readonly tenants: TenantReader };
  readonly #idleReads: IdleReads;
  /** Threads for schema checks; they start on first use. */
  readonly #work = new WorkThreads();
  #closed: Promise<void> | undefined;

  constructor(components: StoreComponents) {
    const { connection } = components;
    this.#parts = components;
    this.defaultTenantId = readDefaultTenantId(connection);
    this.#immediateReaders = { tenants: new TenantReader(new SqliteDatabase(connection)) };
    this.#idleReads = new IdleReads(connection);
    this.read = this.#createReaders();
    this.write = this.#createWriters({});
  }

  get readOnlyReason(): string | undefined {
    return this.#parts.writer.readOnlyReason;
  }

  forRequest(request: ScopedRequest): Store {
    return new ScopedStore(this, {
      read: this.#createReaders(new RequestScope(request)),
      write: this.#createWriters(originOfRequest(request)),
    });
  }

  forClient(client: string): Store {
    return new ScopedStore(this, {
      read: this.read,
      write: this.#createWriters(originOfClient(client)),
    });
  }

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#parts.writer.ingest(tenantId, batch);
  }

  onActivity(listener: ActivityListener): void {
    this.#parts.writer.onActivity(listener);
  }

  /** No other server uses the folder, so nothing needs to be woken. */
  onWake(_listener: () => void): void {}

  async assertAnswers(): Promise<void> {
    await this.read.tenants.hasKeys();
  }

  endReads(): void {
    this.#parts.pool.cancelAll();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #createReaders(scope?: ReadScope): Promised<Readers> {
    return createResourceProxy<Readers>(async (call) => {
      if (isImmediate(call)) {
        return invokeMethod(this.#immediateReaders, call);
      }
      const idle = this.#idleReads.find(call);
      return idle === undefined ? this.#parts.pool.read(call, scope) : idle.answer;
    });
  }

  #createWriters(origin: WriterOrigin): Promised<Writers> {
    const { writer } = this.#parts;
    return createResourceProxy<Writers>((call) =>
      writeFrom(origin, call.resource, (context) =>
        writeChecked(this.#work, String(call.args[0]), (checkResults) =>
          writer.write(call, checkResults, context),
        ),
      ),
    );
  }

  async #close(): Promise<void> {
    const { connection, writer, pool, backgroundThreads, lock, onClosed } = this.#parts;
    // Close the readers before the writer. As its last step, the writer writes the write-ahead log back to the
    // database, while no other connection may be open.
    connection.close();
    await Promise.all([pool, ...backgroundThreads, this.#work].map((part) => part.close()));
    await writer.close();
    lock.release();
    onClosed?.();
  }
}
