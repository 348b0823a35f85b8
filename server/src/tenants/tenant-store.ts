import type { RetentionReads, RetentionWrites } from "../runs/retention/retention.ts";
import type { StorageReads } from "../storage/storage-use.ts";
import type { TenantReads, TenantWrites } from "./tenant.ts";
import type { Promised } from "../storage/promised.ts";

/** What the handlers of tenants and settings need of the store. */
export interface TenantStore {
  readonly read: Promised<{
    readonly retention: RetentionReads;
    readonly storage: StorageReads;
    readonly tenants: TenantReads;
  }>;
  readonly write: Promised<{
    readonly retention: RetentionWrites;
    readonly tenants: TenantWrites;
  }>;
  /** The tenant of requests without a key. */
  readonly defaultTenantId: string;
}
