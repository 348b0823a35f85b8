import type { LogTarget } from "../model/log-target.ts";
import type { LogSettings } from "../model/options.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { IngestWriter } from "./ingest-writer.ts";
import type { AppliedStore, WriterCounts } from "./ingest-writer.ts";
import { LogConnection } from "./log-connection.ts";
import type { LogState } from "./log-report.ts";
import { LogMonitor } from "./log-state.ts";
import { LoggedIngest } from "./logged-ingest.ts";

/** The stores of a server with a log. */
export interface LogStores {
  /** The store in which this process stores the runs of the log. If it is absent, other processes must store them. */
  readonly applied?: AppliedStore;
  /**
   * A database that survives the loss of this machine, as the log does. It stores what the log does not acknowledge in
   * time. Without it, requests wait for the log, and fail if that takes too long.
   */
  readonly shared?: AppliedStore;
}

/**
 * The ingest log as one server uses it: it appends received runs to the log, stores the runs of the log in the
 * database, and observes the state of the log.
 */
export class IngestLog {
  readonly #connection: LogConnection;
  readonly #ingest: LoggedIngest;
  readonly #monitor: LogMonitor;
  readonly #writer: IngestWriter | undefined;

  private constructor(connection: LogConnection, { applied, shared }: LogStores) {
    this.#connection = connection;
    this.#monitor = new LogMonitor(connection);
    this.#ingest = new LoggedIngest(connection, shared, { observed: this.#monitor });
    this.#writer = applied && new IngestWriter(connection, applied);
  }

  /**
   * Connects, and creates the log if it does not exist.
   *
   * @throws ServerError the log can't be reached, or NATS denies a permission or a setting that Millrace needs.
   */
  static async open(
    { target, maxBytes }: Omit<LogSettings, "writer">,
    stores: LogStores,
  ): Promise<IngestLog> {
    return new IngestLog(await LogConnection.open(target, { maxBytes }), stores);
  }

  /**
   * Connects to a log that a server has created, and stores the runs of the log in a database.
   *
   * @throws ServerError the log can't be reached, or there is none.
   */
  static async openWriter(target: LogTarget, store: AppliedStore): Promise<IngestLog> {
    return new IngestLog(await LogConnection.openExisting(target), { applied: store });
  }

  /** The address without credentials. */
  get address(): string {
    return this.#connection.address;
  }

  get replicas(): number {
    return this.#connection.replicas;
  }

  get isConnected(): boolean {
    return this.#monitor.isConnected;
  }

  get reconnects(): number {
    return this.#monitor.reconnects;
  }

  get state(): LogState | undefined {
    return this.#monitor.state;
  }

  get appended(): number {
    return this.#ingest.appended;
  }

  get storedDirectly(): number {
    return this.#ingest.storedDirectly;
  }

  get storedAgain(): number {
    return this.#ingest.storedAgain;
  }

  get canStoreDirectly(): boolean {
    return this.#ingest.canStoreDirectly;
  }

  get writer(): WriterCounts | undefined {
    return this.#writer?.counts;
  }

  /** Resolves when the log, or else the shared database, has stored the batch; see {@link LoggedIngest.ingest}. */
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#ingest.ingest(tenantId, batch);
  }

  /** Must be called when no request is running any more, and before the store is closed. */
  async close(): Promise<void> {
    await this.#ingest.close();
    await Promise.all([this.#writer?.close(), this.#monitor.close()]);
    await this.#connection.close();
  }
}
