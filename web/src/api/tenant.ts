import { queryOptions, useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { currentTenantId, removeTenant, storeTenant, parseTenantId } from "./access.ts";
import { endpointPath } from "./endpoint-path.ts";
import { getJson } from "./http.ts";

const path = endpointPath("/settings");

/** Whose rows the page shows. */
export interface TenantSettings {
  readonly id: string;
  readonly displayName: string;
  /** The name that its public prompts stand under; absent until it has one. */
  readonly handle: string | undefined;
}

/** Rarely changes; what changes it invalidates it. */
export const tenantQuery = queryOptions({
  queryKey: ["tenant"],
  queryFn: async ({ signal }) => {
    const requested = currentTenantId();
    const tenant = parseTenant(await getJson(path, signal));
    if (requested?.toLowerCase() === tenant.id) {
      storeTenant(tenant.id);
    } else {
      removeTenant();
    }
    return tenant;
  },
  staleTime: 60_000,
});

function parseTenant(value: unknown): TenantSettings {
  const { id, display_name, tenant_handle } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string") {
    throw new TypeError("the server's answer holds no tenant");
  }
  return {
    id,
    displayName: typeof display_name === "string" ? display_name : id,
    handle: typeof tenant_handle === "string" ? tenant_handle : undefined,
  };
}

/** Whose rows the page shows, for the addresses it links to; `undefined` until the server has said. */
export function useTenantId(): string | undefined {
  const { pathname, searchStr } = useLocation();
  const { data } = useQuery(tenantQuery);
  return parseTenantId(pathname, searchStr) ?? data?.id;
}
