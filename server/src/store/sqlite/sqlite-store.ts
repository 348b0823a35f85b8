import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { messageOf, ServerError } from "../../errors.ts";
import type { IngestResult, RunBatch } from "../run-record.ts";
import type { StoredRun } from "../run-row.ts";
import type {
  Project,
  ProjectChanges,
  ProjectDraft,
  ProjectFate,
  ProjectQuery,
} from "../project.ts";
import type { RunFilter, RunPage, RunQuery, RunStatistics, Store } from "../run-store.ts";
import { lockFolder } from "./folder-lock.ts";
import type { FolderLock } from "./folder-lock.ts";
import { ProjectReader } from "./project-reader.ts";
import { RunReader } from "./run-reader.ts";
import { databaseFile, openReader } from "./schema.ts";
import type { Connection } from "./schema.ts";
import { WriterThread } from "./writer-thread.ts";

/**
 * Opens the store in a folder, which is made when missing.
 *
 * @throws ServerError the folder can't be written, or another server works on it.
 */
export async function openSqliteStore(folder: string): Promise<Store> {
  const path = resolve(folder);
  prepareFolder(path);
  const lock = lockFolder(path);
  try {
    const file = join(path, databaseFile);
    const writer = await WriterThread.start(file);
    return new SqliteStore({ writer, connection: openReader(file), lock });
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

function prepareFolder(path: string): void {
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) {
      throw new Error("it is not a folder");
    }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new ServerError("DATA_DIR", `Failed to use ${path} as data folder: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** Step by step: Node's own recursive form never returns where a parent exists and takes no folder. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    return;
  }
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Reads on this thread, writes on the writer's. */
class SqliteStore implements Store {
  readonly #writer: WriterThread;
  readonly #connection: Connection;
  readonly #reader: RunReader;
  readonly #projects: ProjectReader;
  readonly #lock: FolderLock;
  #closing: Promise<void> | undefined;

  constructor({
    writer,
    connection,
    lock,
  }: {
    writer: WriterThread;
    connection: Connection;
    lock: FolderLock;
  }) {
    this.#writer = writer;
    this.#connection = connection;
    this.#reader = new RunReader(connection);
    this.#projects = new ProjectReader(connection);
    this.#lock = lock;
  }

  get tenantId(): string {
    return this.#writer.tenantId;
  }

  get tenantMicros(): number {
    return this.#projects.tenantMicros;
  }

  ingest(batch: RunBatch): Promise<IngestResult> {
    return this.#writer.call<"ingest">({ kind: "ingest", batch });
  }

  async findRun(id: string): Promise<StoredRun | undefined> {
    return this.#reader.findRun(id);
  }

  async queryRuns(query: RunQuery): Promise<RunPage> {
    return this.#reader.queryRuns(query);
  }

  async runStatistics(filter: RunFilter): Promise<RunStatistics> {
    return this.#reader.runStatistics(filter);
  }

  shareRun(id: string): Promise<string | undefined> {
    return this.#writer.call<"share">({ kind: "share", id });
  }

  async unshareRun(id: string): Promise<void> {
    await this.#writer.call<"unshare">({ kind: "unshare", id });
  }

  async findSharedRun(token: string): Promise<StoredRun | undefined> {
    return this.#reader.findSharedRun(token);
  }

  async listProjects(query: ProjectQuery): Promise<readonly Project[]> {
    return this.#projects.list(query);
  }

  async findProject(id: string): Promise<Project | undefined> {
    return this.#projects.find(id);
  }

  createProject(draft: ProjectDraft): Promise<ProjectFate> {
    return this.#writer.call<"createProject">({ kind: "createProject", draft });
  }

  updateProject(id: string, changes: ProjectChanges): Promise<ProjectFate> {
    return this.#writer.call<"updateProject">({ kind: "updateProject", id, changes });
  }

  deleteProject(id: string): Promise<boolean> {
    return this.#writer.call<"deleteProject">({ kind: "deleteProject", id });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // The reader first: the last connection to close folds the write-ahead log into the database.
    this.#connection.close();
    await this.#writer.close();
    this.#lock.release();
  }
}
