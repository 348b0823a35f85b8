/** The tenant that an address names: `/o/{tenantId}/…`, or a prompt's `?organizationId=`. */
export function tenantOf(pathname: string, search: string): string | undefined {
  const named =
    /^\/o\/([^/]+)/.exec(pathname)?.[1] ?? new URLSearchParams(search).get("organizationId") ?? "";
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(named) ? named : undefined;
}
