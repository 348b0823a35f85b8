import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { tenantOf } from "./tenant-of.ts";
import { tenantQuery } from "./tenant.ts";

/** Whose rows the page shows, for the addresses it links to; `undefined` until the server has said. */
export function useTenantId(): string | undefined {
  const { pathname, searchStr } = useLocation();
  const { data } = useQuery(tenantQuery);
  return tenantOf(pathname, searchStr) ?? data?.id;
}
