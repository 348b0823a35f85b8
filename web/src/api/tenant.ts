import { queryOptions, useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { readTenantId, removeStoredTenant, storeTenant, parseTenantId } from "./access.ts";
import { toEndpointPath } from "./endpoint-path.ts";
import { getJson } from "./http.ts";

const settingsPath = toEndpointPath("/settings");

/** The settings of the tenant whose data the UI shows. */
export interface TenantSettings {
  readonly id: string;
  readonly displayName: string;
  /** The owner name of its public prompts; `undefined` until one is set. */
  readonly handle: string | undefined;
}

/** The current tenant. It changes rarely, and mutations of the tenant invalidate the query. */
export const tenantQuery = queryOptions({
  queryKey: ["tenant"],
  queryFn: async ({ signal }) => {
    const requestedId = readTenantId();
    const tenant = parseTenant(await getJson(settingsPath, signal));
    if (requestedId?.toLowerCase() === tenant.id) {
      storeTenant(tenant.id);
    } else {
      removeStoredTenant();
    }
    return tenant;
  },
  staleTime: 60_000,
});

function parseTenant(value: unknown): TenantSettings {
  const { id, display_name, tenant_handle } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string") {
    throw new TypeError("The response contains no tenant.");
  }
  return {
    id,
    displayName: typeof display_name === "string" ? display_name : id,
    handle: typeof tenant_handle === "string" ? tenant_handle : undefined,
  };
}

/** The id of the shown tenant, for links; `undefined` until the server has responded. */
export function useTenantId(): string | undefined {
  const { pathname, searchStr } = useLocation();
  const { data } = useQuery(tenantQuery);
  return parseTenantId(pathname, searchStr) ?? data?.id;
}
