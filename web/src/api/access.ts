/** Whether the server accepts the requests of this browser, as of its last response. */
export type Access =
  | { readonly kind: "open" }
  /** The server requires a key, and this browser has none or a wrong one. */
  | { readonly kind: "needed"; readonly hadKey: boolean };

const keyName = "millrace-api-key";
const tenantName = "millrace-tenant";

let access: Access = { kind: "open" };
const listeners = new Set<() => void>();

/** The key in localStorage. It is not encrypted: anyone who can read the browser profile can read it. */
export const readKey = (): string | undefined => localStorage.getItem(keyName) ?? undefined;

/** Stores a key in this browser. Requests that were rejected without it can then be repeated. */
export function storeKey(key: string): void {
  localStorage.setItem(keyName, key);
  sessionStorage.removeItem(tenantName);
  setAccess({ kind: "open" });
}

/** Removes the key from this browser. */
export function removeKey(): void {
  localStorage.removeItem(keyName);
  setAccess({ kind: "open" });
}

/** Must be called when the server responds with 401. */
export function reportUnauthorized(): void {
  if (access.kind === "open") {
    setAccess({ kind: "needed", hadKey: readKey() !== undefined });
  }
}

export const readAccess = (): Access => access;

/** Calls `listener` after each change. Returns a function that unsubscribes it. */
export function subscribeToAccess(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setAccess(next: Access): void {
  access = next;
  listeners.forEach((listener) => listener());
}

/**
 * The tenant whose data the UI shows: the one in the URL, or else the last one in this tab. If it is
 * `undefined`, the server derives the tenant from the key.
 */
export function currentTenantId(): string | undefined {
  const { pathname, search } = globalThis.location;
  return parseTenantId(pathname, search) ?? sessionStorage.getItem(tenantName) ?? undefined;
}

/** Stores the tenant for URLs in this tab that don't contain one. Call it only for a tenant that the server has confirmed. */
export const storeTenant = (id: string): void => sessionStorage.setItem(tenantName, id);

/** Removes the tenant of this tab. */
export const removeTenant = (): void => sessionStorage.removeItem(tenantName);

/** The tenant segment of a URL, not validated: from `/o/{tenantId}/…`, or from a prompt's `?organizationId=`. */
export const tenantSegmentOf = (pathname: string, search: string): string | undefined =>
  /^\/o\/([^/]+)/.exec(pathname)?.[1] ??
  new URLSearchParams(search).get("organizationId") ??
  undefined;

/** The tenant id in a URL; `undefined` if there is none or it is not a valid id. */
export function parseTenantId(pathname: string, search: string): string | undefined {
  const segment = tenantSegmentOf(pathname, search) ?? "";
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(segment) ? segment : undefined;
}
