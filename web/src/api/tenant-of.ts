/** What an address names as its tenant, whatever it is: `/o/{tenantId}/…`, or a prompt's `?organizationId=`. */
export const tenantNamed = (pathname: string, search: string): string | undefined =>
  /^\/o\/([^/]+)/.exec(pathname)?.[1] ??
  new URLSearchParams(search).get("organizationId") ??
  undefined;

/** The tenant that an address names; `undefined` where it names none, or none that there can be. */
export function tenantOf(pathname: string, search: string): string | undefined {
  const named = tenantNamed(pathname, search) ?? "";
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(named) ? named : undefined;
}
