import { resolve } from "node:path";
import { keyScopes, version } from "millrace/model";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import type { KeyGuard } from "./key-guard.ts";
import { describeStoreUrl } from "../model/store-url.ts";
import { isLoopback, memoryDataDir } from "../model/options.ts";
import type { ServerSettings } from "../model/options.ts";
import { readLimitUse } from "./tenant-usage.ts";
import type { TenantUsageParts } from "./tenant-usage.ts";
import type { TenantStore } from "./tenant-store.ts";
import type { ApiKey, Tenant } from "./tenant.ts";
import { toIso } from "../http/wire-text.ts";
import { parseCount, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const Name = Type.String({ maxLength: 200 });

/** Body of `POST /ui/keys`. */
export const keyBody = Type.Object({
  name: Name,
  tenant_id: Maybe(Type.String()),
  scopes: Maybe(
    Type.Array(Type.Union(keyScopes.map((scope) => Type.Literal(scope))), {
      minItems: 1,
      maxItems: keyScopes.length,
    }),
  ),
});
export type KeyBody = Static<typeof keyBody>;

/** Body of `POST /ui/tenants`. */
export const tenantBody = Type.Object({
  handle: Type.String({ maxLength: 64 }),
  display_name: Maybe(Name),
});
export type TenantBody = Static<typeof tenantBody>;

/** Body of `PUT /ui/retention`. Without `days`, the rule is removed. */
export const retentionBody = Type.Object({
  project_id: Maybe(Type.String()),
  days: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 36_500 }), Type.Null()])),
});
export type RetentionBody = Static<typeof retentionBody>;

export interface SettingsDependencies {
  readonly store: TenantStore;
  readonly keyGuard: KeyGuard;
  readonly settings: ServerSettings;
  readonly usage: TenantUsageParts;
}

/**
 * `GET /ui/server`: describes the server. Only a response to a request from this machine says where the data is stored.
 */
export async function readServerFacts(
  dependencies: SettingsDependencies,
  request: FastifyRequest,
): Promise<unknown> {
  const { host, dataDir, publicUrl, store } = dependencies.settings;
  const dataLocation =
    store === undefined ? toFullPath(dataDir) : `PostgreSQL at ${describeStoreUrl(store)}`;
  // Behind a proxy on this machine, each request seems to come from this machine.
  const isLocal = publicUrl === undefined && isLoopback(host) && isLoopback(request.ip);
  return {
    version,
    needs_key: await dependencies.keyGuard.isKeyRequired(),
    is_operator: await isOperator(dependencies, request),
    ...(isLocal ? { data_dir: dataLocation } : {}),
  };
}

/** Returns an absolute path, because its readers may not know the working directory of the server. */
const toFullPath = (dataDir: string): string =>
  dataDir === memoryDataDir ? dataDir : resolve(dataDir);

/** `GET /ui/keys`: lists the keys of the tenant. The operator of the server receives the keys of all tenants. */
export async function listKeys(
  dependencies: SettingsDependencies,
  request: FastifyRequest,
): Promise<unknown> {
  const seesAllTenants = await isOperator(dependencies, request);
  const keys = await dependencies.store.read.tenants.listKeys(
    seesAllTenants ? undefined : request.tenantId,
  );
  return keys.map(toKeyJson);
}

/** `POST /ui/keys`: creates a key. Its secret can't be read again later. */
export async function createKey(
  dependencies: SettingsDependencies,
  request: FastifyRequest<{ Body: KeyBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { name, tenant_id: requestedTenant, scopes } = request.body;
  const tenantId =
    requestedTenant === undefined || requestedTenant === null
      ? request.tenantId
      : parseId(requestedTenant, "tenant_id");
  if (tenantId !== request.tenantId) {
    await assertOperator(dependencies, request);
  }
  return reply.code(201).send(
    await dependencies.store.write.tenants.createKey(tenantId, {
      name,
      scopes: scopes ?? undefined,
    }),
  );
}

/** `DELETE /ui/keys/{id}`: revokes a key. */
export async function revokeKey(
  dependencies: SettingsDependencies,
  request: FastifyRequest,
): Promise<unknown> {
  const id = parseId((request.params as { readonly id: string }).id, "key id");
  const seesAllTenants = await isOperator(dependencies, request);
  const visibleKeys = await dependencies.store.read.tenants.listKeys(
    seesAllTenants ? undefined : request.tenantId,
  );
  if (!visibleKeys.some((key) => key.id === id)) {
    throw new RequestError(404, "API key not found");
  }
  return toKeyJson(await dependencies.store.write.tenants.revokeKey(id));
}

/** `GET /ui/tenants`: returns the client's own tenant. The operator of the server receives all tenants. */
export async function listTenants(
  dependencies: SettingsDependencies,
  request: FastifyRequest,
): Promise<unknown> {
  const seesAllTenants = await isOperator(dependencies, request);
  const tenants = await dependencies.store.read.tenants.list();
  return tenants.filter(({ id }) => seesAllTenants || id === request.tenantId).map(toTenantJson);
}

/** `POST /ui/tenants`: creates a tenant. */
export async function createTenant(
  dependencies: SettingsDependencies,
  request: FastifyRequest<{ Body: TenantBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  await assertOperator(dependencies, request);
  const { handle, display_name: displayName } = request.body;
  const draft = { handle, displayName: displayName ?? handle };
  return reply.code(201).send(toTenantJson(await dependencies.store.write.tenants.create(draft)));
}

/** `GET /ui/storage`: returns the disk space that the store uses, and a page of projects with their numbers of runs. */
export async function readStorage(
  { store, usage: parts }: { readonly store: TenantStore; readonly usage: TenantUsageParts },
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const range = {
    limit: parseCount(query, "limit", { fallback: 20, min: 1, max: 50 }),
    offset: parseCount(query, "offset", { fallback: 0, max: 1_000_000 }),
  };
  const usage = await store.read.storage.measure(request.tenantId);
  const projects = await store.read.storage.listProjects(request.tenantId, range);
  const limits = await readLimitUse(parts, request.tenantId);
  return {
    limits: limits.map(({ limit, max, used = null }) => ({ limit, max, used })),
    database_bytes: usage.databaseBytes,
    free_bytes: usage.freeBytes,
    attachments: toCountJson(usage.attachments, { bytes: usage.attachments.bytes }),
    projects: projects.map(({ projectId, name, oldestMicros, ...count }) =>
      toCountJson(count, {
        project_id: projectId,
        name,
        oldest: oldestMicros === null ? null : toIso(oldestMicros),
      }),
    ),
  };
}

/** `GET /ui/retention`: lists the retention rules of the tenant. */
export async function listRetention(store: TenantStore, request: FastifyRequest): Promise<unknown> {
  const rules = await store.read.retention.list(request.tenantId);
  return rules.map(({ projectId, days }) => ({ project_id: projectId, days }));
}

/** `PUT /ui/retention`: sets or removes a retention rule. Returns all rules of the tenant. */
export async function setRetention(
  store: TenantStore,
  request: FastifyRequest<{ Body: RetentionBody }>,
): Promise<unknown> {
  const { project_id: requestedProject, days } = request.body;
  const projectId =
    requestedProject === undefined || requestedProject === null
      ? null
      : parseId(requestedProject, "project_id");
  if (days === undefined) {
    await store.write.retention.clear(request.tenantId, projectId);
  } else {
    await store.write.retention.set(request.tenantId, { projectId, days });
  }
  return listRetention(store, request);
}

/**
 * Whether the client may manage all tenants. While no keys exist, every client may. Afterwards only clients with a key
 * of the default tenant may, because the server was set up with that tenant.
 */
export async function isOperator(
  { store, keyGuard }: Pick<SettingsDependencies, "store" | "keyGuard">,
  { tenantId }: FastifyRequest,
): Promise<boolean> {
  return tenantId === store.defaultTenantId || !(await keyGuard.isKeyRequired());
}

async function assertOperator(
  dependencies: SettingsDependencies,
  request: FastifyRequest,
): Promise<void> {
  if (!(await isOperator(dependencies, request))) {
    throw new RequestError(
      403,
      "only keys of the server's default tenant can manage other tenants",
    );
  }
}

const toKeyJson = ({ id, tenantId, name, hint, createdMicros, revokedMicros, scopes }: ApiKey) => ({
  id,
  tenant_id: tenantId,
  name,
  hint,
  scopes,
  created_at: toIso(createdMicros),
  revoked_at: revokedMicros === null ? null : toIso(revokedMicros),
});

const toTenantJson = ({ id, handle, displayName, createdMicros }: Tenant) => ({
  id,
  handle,
  display_name: displayName,
  created_at: toIso(createdMicros),
});

const toCountJson = <Rest extends object>(
  { count, isComplete }: { readonly count: number; readonly isComplete: boolean },
  otherMembers: Rest,
) => ({ ...otherMembers, count, is_complete: isComplete });
