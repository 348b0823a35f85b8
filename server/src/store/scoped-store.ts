import type { ScopedRequest } from "../http/request-scope.ts";
import type { ActivityListener } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { Promised } from "../storage/promised.ts";
import type { Readers, Writers } from "./repositories.ts";
import type { Store } from "./store.ts";

/**
 * A view of a store for one request or for one part of the server. The queries of a request end when its client
 * disconnects, and its writes are recorded in the audit log. Writes of a part of the server are recorded as made by
 * that part.
 */
export class ScopedStore implements Store {
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

  get linkSecret(): Uint8Array | undefined {
    return this.#store.linkSecret;
  }

  get pools(): Store["pools"] {
    return this.#store.pools;
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

  onActivity(listener: ActivityListener): void {
    this.#store.onActivity(listener);
  }

  onWake(listener: () => void): void {
    this.#store.onWake(listener);
  }

  assertAnswers(): Promise<void> {
    return this.#store.assertAnswers();
  }

  endReads(): void {
    this.#store.endReads();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
