import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import type { SettingsJson } from "./tenant-schemas.ts";
import type { TenantStore } from "./tenant-store.ts";
import type { Tenant } from "./tenant.ts";
import { toIso } from "../http/wire-text.ts";

/** Body of `POST /settings/handle`. */
export const handleBody = Type.Object({ tenant_handle: Type.String() });

/** `GET /settings`: returns the tenant of the client. */
export async function readSettings(
  store: TenantStore,
  { tenantId }: FastifyRequest,
): Promise<unknown> {
  const tenant = await store.read.tenants.find(tenantId);
  if (tenant === undefined) {
    throw new RequestError(404, "Tenant not found");
  }
  return toSettingsJson(tenant);
}

/** `POST /settings/handle`: sets the name by which the tenant's public prompts are addressed. */
export async function setTenantHandle(
  store: TenantStore,
  { body, tenantId }: FastifyRequest<{ Body: Static<typeof handleBody> }>,
): Promise<unknown> {
  return toSettingsJson(await store.write.tenants.setHandle(tenantId, body.tenant_handle));
}

const toSettingsJson = ({ id, displayName, createdMicros, handle }: Tenant): SettingsJson => ({
  id,
  display_name: displayName,
  created_at: toIso(createdMicros),
  tenant_handle: handle,
});
