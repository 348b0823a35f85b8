import type { ByteQuota } from "./byte-quota.ts";
import type { DailyIngest } from "./daily-ingest.ts";
import type { RunQuota } from "./run-quota.ts";
import type { TenantLimit } from "./tenant-limits.ts";

/** A limit of a tenant, and how much of it is used. */
export interface LimitUse {
  readonly limit: TenantLimit;
  readonly max: number;
  /** `undefined` while it is not known. */
  readonly used: number | undefined;
}

/** The limits that the operator has set, and what counts towards them. */
export interface TenantUsageParts {
  readonly maximums: {
    readonly tenantIngestBytes: number | undefined;
    readonly tenantMaxRuns: number | undefined;
    readonly tenantMaxBytes: number | undefined;
  };
  readonly dailyIngest: Pick<DailyIngest, "read"> | undefined;
  readonly runQuota: Pick<RunQuota, "read">;
  readonly byteQuota: Pick<ByteQuota, "read">;
}

/**
 * Describes how much a tenant has used of its limits on the bytes of a day and on stored data. Limits that are not set
 * are left out.
 */
export async function readLimitUse(
  { maximums, dailyIngest, runQuota, byteQuota }: TenantUsageParts,
  tenantId: string,
): Promise<readonly LimitUse[]> {
  const { tenantIngestBytes, tenantMaxRuns, tenantMaxBytes } = maximums;
  const uses: LimitUse[] = [];
  if (tenantMaxBytes !== undefined) {
    uses.push({ limit: "stored_bytes", max: tenantMaxBytes, used: byteQuota.read(tenantId) });
  }
  if (tenantMaxRuns !== undefined) {
    uses.push({ limit: "stored_runs", max: tenantMaxRuns, used: runQuota.read(tenantId) });
  }
  if (tenantIngestBytes !== undefined) {
    uses.push({
      limit: "ingest_bytes",
      max: tenantIngestBytes,
      used: await dailyIngest?.read(tenantId),
    });
  }
  return uses;
}
