import { createHash } from "node:crypto";
import type { ApiKey, Tenant } from "./tenant.ts";

/** The columns of `tenants`, in the order of {@link parseTenantRow}. */
export const tenantColumns = "id, handle, display_name_json, created_us";

export function parseTenantRow(values: readonly unknown[]): Tenant {
  const [id, handle, displayName, created] = values;
  return {
    id: String(id),
    handle: typeof handle === "string" ? handle : null,
    displayName: String(JSON.parse(String(displayName))),
    createdMicros: Number(created),
  };
}

/** The columns of `api_keys`, in the order of {@link parseKeyRow}. */
export const keyColumns = "id, tenant_id, name_json, hint, created_us, revoked_us";

export function parseKeyRow(values: readonly unknown[]): ApiKey {
  const [id, tenantId, name, hint, created, revoked] = values;
  return {
    id: String(id),
    tenantId: String(tenantId),
    name: String(JSON.parse(String(name))),
    hint: String(hint),
    createdMicros: Number(created),
    revokedMicros: typeof revoked === "number" ? revoked : null,
  };
}

/** The digest of a key, which is stored instead of the key. */
export const digestOf = (key: string): string => createHash("sha256").update(key).digest("hex");
