import { Fields, omitUndefined } from "../fields.ts";

/** The tenant to which a client's API key belongs. A tenant owns projects, datasets and prompts. */
export interface TenantSettings {
  readonly id: string;
  readonly displayName: string;
  /** A time in ISO 8601 format. */
  readonly createdAt: string;
  /** The owner name in the identifiers of the tenant's public prompts; absent until it is set. */
  readonly handle?: string | undefined;
}

/** @throws {@link ResponseError} if `value` is not a tenant. */
export function parseTenantSettings(value: unknown): TenantSettings {
  const fields = new Fields(value, "tenant");
  return omitUndefined({
    id: fields.readText("id"),
    displayName: fields.readText("display_name"),
    createdAt: fields.readText("created_at"),
    handle: fields.readOptionalText("tenant_handle"),
  });
}
