import { withoutBasePath } from "./base-path.ts";

/** Whether the server accepts the requests of this browser, according to its last response. */
export type Access =
  | { readonly kind: "open" }
  /** The server requires a key, and this browser has none or a wrong one. */
  | { readonly kind: "needed"; readonly hasRejectedKey: boolean };

const apiKeyStorageName = "millrace-api-key";
const tenantStorageName = "millrace-tenant";

let access: Access = { kind: "open" };
const listeners = new Set<() => void>();

/** The key in localStorage. It is not encrypted: anyone who can read the browser profile can read it. */
export const readKey = (): string | undefined =>
  localStorage.getItem(apiKeyStorageName) ?? undefined;

/** Stores an API key in this browser. The caller must repeat the requests that were rejected before. */
export function storeKey(key: string): void {
  localStorage.setItem(apiKeyStorageName, key);
  sessionStorage.removeItem(tenantStorageName);
  setAccess({ kind: "open" });
}

export function removeKey(): void {
  localStorage.removeItem(apiKeyStorageName);
  setAccess({ kind: "open" });
}

/** Must be called when the server responds with 401. */
export function reportUnauthorized(): void {
  if (access.kind === "open") {
    setAccess({ kind: "needed", hasRejectedKey: readKey() !== undefined });
  }
}

export const readAccess = (): Access => access;

/** Calls `listener` after each change. Returns a function that unsubscribes it. */
export function subscribeToAccess(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setAccess(newAccess: Access): void {
  access = newAccess;
  listeners.forEach((listener) => listener());
}

/**
 * The tenant whose data the UI shows: the one in the URL, or else the last one in this tab. If it is
 * `undefined`, the server derives the tenant from the key.
 */
export function readTenantId(): string | undefined {
  const { pathname, search } = globalThis.location;
  return (
    parseTenantId(withoutBasePath(pathname), search) ??
    sessionStorage.getItem(tenantStorageName) ??
    undefined
  );
}

/**
 * Stores the tenant for URLs in this tab that don't contain one. Call it only for a tenant that the server has
 * confirmed.
 */
export const storeTenant = (id: string): void => sessionStorage.setItem(tenantStorageName, id);

export const removeStoredTenant = (): void => sessionStorage.removeItem(tenantStorageName);

/** The tenant segment of a URL, not validated: from `/o/{tenantId}/…`, or from a prompt's `?organizationId=`. */
export const findTenantSegment = (pathname: string, search: string): string | undefined =>
  /^\/o\/([^/]+)/.exec(pathname)?.[1] ??
  new URLSearchParams(search).get("organizationId") ??
  undefined;

/** The tenant id in a URL; `undefined` if there is none or it is not a valid id. */
export function parseTenantId(pathname: string, search: string): string | undefined {
  const segment = findTenantSegment(pathname, search) ?? "";
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(segment) ? segment : undefined;
}
