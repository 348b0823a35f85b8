import type { TransactionLock } from "../../storage/postgres/transaction.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import type { ResourceCall } from "../../storage/thread-reply.ts";
import type { Readers, Writers } from "../repositories.ts";

// On SQLite one thread performs all writes, so a write that reads first and then writes needs no lock. On PostgreSQL
// several servers write at the same time. To keep the same guarantee, the writes of one tenant take a lock of that
// tenant, and writes that concern all tenants take a lock that excludes the writes of every tenant to the same
// resources.

/** The tenants whose rows a call can use. */
export type CallTenant =
  | { readonly kind: "tenant"; readonly tenantId: string }
  | { readonly kind: "all" }
  /** The tenant to which the token of a share belongs. */
  | { readonly kind: "token"; readonly token: string }
  /** The tenant of a dataset that is to be erased. */
  | { readonly kind: "retiredDataset" };

/** The tenant for which a write runs, and the locks that it takes first. */
export interface WritePlan {
  readonly tenant: CallTenant;
  readonly locks: readonly TransactionLock[];
}

/** Names of methods, by resource. */
export type MethodTable<Resources> = {
  readonly [Resource in keyof Resources]?: readonly (keyof Resources[Resource])[];
};

/**
 * Queries that read rows of all tenants: the server's own queries, and queries that determine the tenant of a request.
 */
const readsOfAll: MethodTable<Readers> = {
  alerts: ["listActive"],
  // The request has a signed link that names the blob, and no tenant.
  examples: ["findBlob"],
  jobs: ["hasActive"],
  rules: ["listActive", "scanRoots", "listDue", "listWaitingJudges"],
  storage: ["countRuns", "measureRuns"],
  tenants: ["find", "findByHandle", "findByKey", "hasKeys", "list", "listKeys"],
  webhooks: ["listDue"],
};

/** Queries by visitors of a share link. Their first argument is the token of the share. */
const readsByToken: MethodTable<Readers> = {
  datasets: ["findShared"],
  feedback: ["findToken"],
  runs: ["findShared"],
  shares: ["find"],
};

const writesOfAll: MethodTable<Writers> = {
  alerts: ["record"],
  audit: ["removeExpired"],
  jobs: ["claim", "renew", "releaseAll", "removeEnded"],
  retention: ["sweep"],
  rules: ["advance", "record", "prune"],
  tenants: ["create", "setHandle", "createKey", "revokeKey"],
  webhooks: ["record"],
};

/**
 * By resource, the name of the lock that keeps writes for all tenants apart from writes of single tenants. A write for
 * all tenants takes the lock alone; writes of single tenants share it.
 */
const allTenantLocks: Readonly<Partial<Record<keyof Writers, string>>> = {
  alerts: "automation",
  jobs: "jobs",
  retention: "retention",
  rules: "automation",
  tenants: "tenants",
  webhooks: "automation",
};

/**
 * The resources whose writes take the tenant's lock `datasets`. Writes to all other resources take the tenant's lock
 * `rest`.
 */
const datasetResources: ReadonlySet<string> = new Set<keyof Writers>([
  "datasets",
  "examples",
  "largeExamples",
  "uploads",
]);

/** Determines for which tenant a query runs. */
export function planRead({ resource, method, args }: ResourceCall<Readers>): CallTenant {
  if (hasMethod(readsOfAll, resource, method)) {
    return { kind: "all" };
  }
  if (resource === "audit") {
    // The query names the tenant whose entries are listed. Without a tenant, the server's operator lists the entries of
    // all tenants.
    const listed = readMember(args[1], "tenantId");
    return listed === undefined
      ? { kind: "all" }
      : { kind: "tenant", tenantId: readText(resource, method, listed) };
  }
  if (hasMethod(readsByToken, resource, method)) {
    return { kind: "token", token: readText(resource, method, args[0]) };
  }
  return { kind: "tenant", tenantId: readText(resource, method, args[0]) };
}

/** Determines for which tenant a write runs, and which locks it takes. */
export function planWrite({ resource, method, args }: ResourceCall<Writers>): WritePlan {
  const allTenantLock = allTenantLocks[resource];
  if (hasMethod(writesOfAll, resource, method)) {
    return {
      tenant: { kind: "all" },
      locks: [{ name: `all/${allTenantLock ?? resource}`, isShared: false }],
    };
  }
  if (resource === "datasets" && method === "sweep") {
    // The servers erase one after the other, so that a deletion is answered only when no rows are left.
    return {
      tenant: { kind: "retiredDataset" },
      locks: [{ name: "all/erasures", isShared: false }],
    };
  }
  if (resource === "prompts" && method === "count") {
    // This write only adds 1 to counts, so it needs no lock.
    return { tenant: { kind: "all" }, locks: [] };
  }
  const tenantId = readText(resource, method, findTenant(resource, method, args));
  if (resource === "audit") {
    // This write only adds an entry, so it needs no lock.
    return { tenant: { kind: "tenant", tenantId }, locks: [] };
  }
  return {
    // Likes and counts of public prompts change rows of other tenants. The repository checks who may change a prompt.
    tenant: resource === "prompts" ? { kind: "all" } : { kind: "tenant", tenantId },
    locks: [
      ...(allTenantLock === undefined ? [] : [{ name: `all/${allTenantLock}`, isShared: true }]),
      createTenantLock(tenantId, datasetResources.has(resource) ? "datasets" : "rest"),
    ],
  };
}

/** The lock that excludes other writes of a tenant. */
export const createTenantLock = (
  tenantId: string,
  group: "datasets" | "rest",
): TransactionLock => ({
  name: `${tenantId}/${group}`,
  isShared: false,
});

/** Returns the tenant in the arguments of a write: the first argument, or a member of it. */
function findTenant(resource: string, method: string, [first]: readonly unknown[]): unknown {
  const isMember =
    (resource === "jobs" && method === "record") ||
    (resource === "rules" && method === "advancePast");
  return isMember ? readMember(first, "tenantId") : first;
}

const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (Reflect.get(value, name) as unknown) : undefined;

const hasMethod = <Resources>(
  table: MethodTable<Resources>,
  resource: keyof Resources,
  method: PropertyKey,
): boolean => (table[resource] as readonly PropertyKey[] | undefined)?.includes(method) ?? false;

/** @throws Error the call names no tenant. Without this check, it would run for no tenant, or for all tenants. */
function readText(resource: string, method: string, value: unknown): string {
  if (typeof value !== "string" || value === allTenants) {
    throw new Error(`${resource}.${method} needs the id of a tenant, or the token of a share`);
  }
  return value;
}
