import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Activity } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { VersionAuthor } from "../datasets/version-author.ts";
import { nameClient, readAuthor } from "../http/author.ts";
import { RequestScope } from "../http/request-scope.ts";
import type { ReadScope, ScopedRequest } from "../http/request-scope.ts";
import type { PendingAudit } from "../model/audit-entry.ts";
import type { Readers, Writers } from "./repositories.ts";
import type { Store } from "./store.ts";
import type { Promised } from "../storage/promised.ts";
import { serverLimits } from "../model/options.ts";
import { isDiskFull } from "../storage/sqlite/disk-reserve.ts";
import { restrictFiles, prepareFolder } from "../storage/sqlite/folder.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import type { FolderLock } from "../storage/sqlite/folder-lock.ts";
import { isImmediate } from "./reader-protocol.ts";
import { ReadPool } from "./read-pool.ts";
import { ReaderThread } from "./reader-thread.ts";
import {
  databaseFileName,
  openReader,
  readDefaultTenantId,
} from "../storage/sqlite/open-database.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import { invokeMethod } from "../storage/thread-reply.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";
import { prepareTextIndex, removeTextIndex } from "../runs/sqlite/text-index/text-index.ts";
import { startMetricThread } from "../metrics/metric-thread.ts";
import { startTextIndexThread } from "../runs/sqlite/text-index/text-index-thread.ts";
import { hasHiddenTokens, tokenKeyFileName } from "../storage/sqlite/token-keys.ts";
import { writeChecked } from "../datasets/examples/schemas/schema-guard.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { WriterThread } from "./writer-thread.ts";

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
    const pool = new ReadPool(() => new ReaderThread(databasePath, warnOnce), queryTimeoutMs);
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
  readonly #parts: StoreComponents;
  readonly #immediateReaders: { readonly tenants: TenantReader };
  /** Threads for schema checks; they start on first use. */
  readonly #work = new WorkThreads();
  #closed: Promise<void> | undefined;

  constructor(components: StoreComponents) {
    const { connection } = components;
    this.#parts = components;
    this.defaultTenantId = readDefaultTenantId(connection);
    this.#immediateReaders = { tenants: new TenantReader(new SqliteDatabase(connection)) };
    this.read = this.#createReaders();
    this.write = this.#createWriters({});
  }

  get readOnlyReason(): string | undefined {
    return this.#parts.writer.readOnlyReason;
  }

  forRequest(request: ScopedRequest): Store {
    const { audit } = request;
    return new ScopedStore(this, {
      read: this.#createReaders(new RequestScope(request)),
      write: this.#createWriters({
        findAuthor: () => toVersionAuthor(request),
        ...(audit && { audit }),
      }),
    });
  }

  forClient(client: string): Store {
    const author = { name: null, keyName: null, client };
    return new ScopedStore(this, {
      read: this.read,
      write: this.#createWriters({ findAuthor: () => author }),
    });
  }

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#parts.writer.ingest(tenantId, batch);
  }

  onActivity(listener: (activity: readonly Activity[]) => void): void {
    this.#parts.writer.onActivity(listener);
  }

  endReads(): void {
    this.#parts.pool.cancelAll();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #createReaders(scope?: ReadScope): Promised<Readers> {
    return createProxy<Readers>(async (call) =>
      isImmediate(call)
        ? invokeMethod(this.#immediateReaders, call)
        : this.#parts.pool.read(call, scope),
    );
  }

  #createWriters({ findAuthor, audit }: WriterOrigin): Promised<Writers> {
    return createProxy<Writers>(async (call) => {
      const { writer } = this.#parts;
      const author = versionedResources.has(call.resource) ? findAuthor?.() : undefined;
      const entry = audit?.createEntry();
      const result = await writeChecked(this.#work, String(call.args[0]), (checkResults) =>
        writer.write(call, checkResults, { author, audit: entry }),
      );
      audit?.markStored();
      return result;
    });
  }

  async #close(): Promise<void> {
    const { connection, writer, pool, backgroundThreads, lock, onClosed } = this.#parts;
    // Close the readers before the writer. As its last step, the writer copies the write-ahead log back into the
    // database, for which no other connection may be open.
    connection.close();
    await Promise.all([pool, ...backgroundThreads, this.#work].map((part) => part.close()));
    await writer.close();
    lock.release();
    onClosed?.();
  }
}

/** Who makes the writes. */
interface WriterOrigin {
  /** Returns the author of versions; it is called for each write that adds versions to datasets. */
  readonly findAuthor?: () => VersionAuthor | undefined;
  /** The entry of the audit log that the first write takes along. */
  readonly audit?: PendingAudit;
}

/** The resources whose writes add versions to datasets, which have an author. */
const versionedResources: ReadonlySet<string> = new Set([
  "datasets",
  "examples",
  "largeExamples",
  "uploads",
]);

function toVersionAuthor({
  headers = {},
  apiKey = null,
}: ScopedRequest): VersionAuthor | undefined {
  const { name, key } = readAuthor({ headers, apiKey });
  const client = nameClient(headers);
  return name === null && key === null && client === null
    ? undefined
    : { name, keyName: key?.name ?? null, client };
}

/**
 * A store whose queries belong to one request, and whose writes carry its entry of the audit log, or whose writes belong
 * to a part of the server.
 */
class ScopedStore implements Store {
  readonly read: Promised<Readers>;
  readonly write: Promised<Writers>;
  readonly #store: Store;

  constructor(store: Store, { read, write }: Pick<Store, "read" | "write">) {
    this.#store = store;
    this.read = read;
    this.write = write;
  }

  get defaultTenantId(): string {
    return this.#store.defaultTenantId;
  }

  get readOnlyReason(): string | undefined {
    return this.#store.readOnlyReason;
  }

  forRequest(request: ScopedRequest): Store {
    return this.#store.forRequest(request);
  }

  forClient(client: string): Store {
    return this.#store.forClient(client);
  }

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#store.ingest(tenantId, batch);
  }

  onActivity(listener: (activity: readonly Activity[]) => void): void {
    this.#store.onActivity(listener);
  }

  endReads(): void {
    this.#store.endReads();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/**
 * Creates a proxy that turns each call of a resource's method into a call of `invoke` with the names of the resource
 * and the method. TypeScript ensures that the method exists.
 */
function createProxy<Resources>(
  invoke: (call: ResourceCall<Resources>) => Promise<unknown>,
): Promised<Resources> {
  const methodsOf = (resource: string): object =>
    new Proxy(
      {},
      {
        get:
          (_target, method) =>
          (...args: readonly unknown[]) =>
            invoke({ resource, method: String(method), args } as ResourceCall<Resources>),
      },
    );
  const resources = new Map<string, object>();
  return new Proxy(
    {},
    {
      get: (_target, name) => {
        const resource = String(name);
        const methods = resources.get(resource) ?? methodsOf(resource);
        resources.set(resource, methods);
        return methods;
      },
    },
  ) as Promised<Resources>;
}
