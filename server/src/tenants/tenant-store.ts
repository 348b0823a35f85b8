import type { RequestScoped } from "../http/request-scope.ts";
import type { RetentionReads, RetentionWrites } from "../runs/retention/retention.ts";
import type { StorageReads } from "../storage/storage-use.ts";
import type { TenantReads, TenantWrites } from "./tenant.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of tenants and settings use. */
export interface TenantStore extends RequestScoped<TenantStore> {
  readonly read: Promised<{ readonly storage: StorageReads }> & {
    readonly retention: RetentionReads;
    readonly tenants: TenantReads;
  };
  readonly write: {
    readonly retention: RetentionWrites;
    readonly tenants: TenantWrites;
  };
  /** The tenant of requests without a key. */
  readonly defaultTenantId: string;
}
