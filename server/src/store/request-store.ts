import type { ScopedRequest } from "../http/request-scope.ts";
import type { Activity } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { Promised } from "../storage/promised.ts";
import type { Readers, Writers } from "./repositories.ts";
import type { Store } from "./store.ts";

/** A store whose queries belong to one request. */
export class RequestStore implements Store {
  readonly read: Promised<Readers>;
  readonly #store: Store;

  constructor(store: Store, read: Promised<Readers>) {
    this.#store = store;
    this.read = read;
  }

  get write(): Promised<Writers> {
    return this.#store.write;
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

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#store.ingest(tenantId, batch);
  }

  onActivity(listener: (activity: readonly Activity[]) => void): void {
    this.#store.onActivity(listener);
  }

  onWake(listener: () => void): void {
    this.#store.onWake(listener);
  }

  get linkSecret(): Uint8Array | undefined {
    return this.#store.linkSecret;
  }

  get pools(): Store["pools"] {
    return this.#store.pools;
  }

  endReads(): void {
    this.#store.endReads();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
