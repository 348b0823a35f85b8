import { Fields, definedOf } from "../fields.ts";

/** What the key of a client belongs to: it owns projects, datasets and prompts. */
export interface TenantSettings {
  readonly id: string;
  readonly displayName: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The name that its public prompts stand under; absent until it has one. */
  readonly handle?: string | undefined;
}

/** @throws {@link ResponseError} it is not a tenant's. */
export function parseTenantSettings(value: unknown): TenantSettings {
  const fields = new Fields(value, "tenant");
  return definedOf({
    id: fields.text("id"),
    displayName: fields.text("display_name"),
    createdAt: fields.text("created_at"),
    handle: fields.optionalText("tenant_handle"),
  });
}
