/** Whether the server lets this browser in, as far as it has said. */
export type Access =
  | { readonly kind: "open" }
  /** The server asks for a key, and this browser has none, or one that it refuses. */
  | { readonly kind: "needed"; readonly hadKey: boolean };

const keyName = "millrace-api-key";
const tenantName = "millrace-tenant";

let access: Access = { kind: "open" };
const listeners = new Set<() => void>();

/** The key that this browser keeps, in clear: whoever can read its profile can read it. */
export const readKey = (): string | undefined => localStorage.getItem(keyName) ?? undefined;

/** Keeps a key for this browser; what was asked for without it may be asked again. */
export function storeKey(key: string): void {
  localStorage.setItem(keyName, key);
  sessionStorage.removeItem(tenantName);
  setAccess({ kind: "open" });
}

/** Forgets the key. Repeated, it changes nothing. */
export function removeKey(): void {
  localStorage.removeItem(keyName);
  setAccess({ kind: "open" });
}

/** The server answered 401. */
export function reportUnauthorized(): void {
  if (access.kind === "open") {
    setAccess({ kind: "needed", hadKey: readKey() !== undefined });
  }
}

export const readAccess = (): Access => access;

/** Calls `listener` after each change; returns what ends that. */
export function subscribeToAccess(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setAccess(next: Access): void {
  access = next;
  listeners.forEach((listener) => listener());
}

/**
 * The tenant whose rows the page shows: that of its address, else the last one that this tab was at.
 * `undefined`: the server says whose they are, by the key.
 */
export function currentTenantId(): string | undefined {
  const { pathname, search } = globalThis.location;
  return parseTenantId(pathname, search) ?? sessionStorage.getItem(tenantName) ?? undefined;
}

/** The server knows the tenant: the tab stays with it at addresses that name none. */
export const storeTenant = (id: string): void => sessionStorage.setItem(tenantName, id);

/** The tab is at no tenant. */
export const removeTenant = (): void => sessionStorage.removeItem(tenantName);

/** What an address names as its tenant, whatever it is: `/o/{tenantId}/…`, or a prompt's `?organizationId=`. */
export const tenantSegmentOf = (pathname: string, search: string): string | undefined =>
  /^\/o\/([^/]+)/.exec(pathname)?.[1] ??
  new URLSearchParams(search).get("organizationId") ??
  undefined;

/** The tenant that an address names; `undefined` where it names none, or none that there can be. */
export function parseTenantId(pathname: string, search: string): string | undefined {
  const named = tenantSegmentOf(pathname, search) ?? "";
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(named) ? named : undefined;
}
