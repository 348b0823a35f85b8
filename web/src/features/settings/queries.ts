import type { KeyScope } from "millrace/model";
import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, postJson, putJson } from "../../api/http.ts";

/** The server's version, access rules and data folder. */
export interface ServerFacts {
  readonly version: string;
  /** Whether requests need an API key. */
  readonly needsKey: boolean;
  /** Whether the user may manage other tenants. */
  readonly isOperator: boolean;
  /** The data folder. The server sends it only to browsers on its own machine. */
  readonly dataDir: string | undefined;
}

/** An API key in the list, without its secret. */
export interface ListedKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The last characters of the key. */
  readonly hint: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly revokedAt: string | undefined;
}

export interface ListedTenant {
  readonly id: string;
  readonly handle: string | undefined;
  readonly displayName: string;
}

/** The stored runs of a project. */
export interface ProjectUsage {
  readonly projectId: string;
  readonly name: string;
  readonly count: number;
  /** Whether `count` is exact. The server stops counting at a maximum. */
  readonly isComplete: boolean;
  /** Start time of the oldest run. */
  readonly oldest: string | undefined;
}

/** A limit of the tenant that the operator has set. */
export interface LimitUsage {
  /** `stored_bytes`, `stored_runs` or `ingest_bytes`. */
  readonly limit: string;
  readonly max: number;
  /** `undefined` while the server has not measured it yet. */
  readonly used: number | undefined;
}

/** Disk usage of the server. */
export interface StorageUsage {
  /** Empty if the operator has set no limits. */
  readonly limits: readonly LimitUsage[];
  readonly databaseBytes: number;
  /** Bytes within the database that new data can reuse. */
  readonly freeBytes: number;
  readonly attachments: {
    readonly count: number;
    readonly bytes: number;
    /** Whether `count` is exact. The server stops counting at a maximum. */
    readonly isComplete: boolean;
  };
  readonly projects: readonly ProjectUsage[];
  /** Whether there are more projects after this page. */
  readonly hasMoreProjects: boolean;
}

/** How long runs are kept. */
export interface RetentionRule {
  /** `null` for the rule that applies to all projects without a rule of their own. */
  readonly projectId: string | null;
  /** `null` to keep the runs forever. */
  readonly days: number | null;
}

type JsonObject = Readonly<Record<string, unknown>>;

export const serverFactsQuery = queryOptions({
  queryKey: ["server-facts"],
  queryFn: async ({ signal }): Promise<ServerFacts> => {
    const facts = (await getJson(toEndpointPath("/ui/server"), signal)) as JsonObject;
    return {
      version: String(facts["version"]),
      needsKey: facts["needs_key"] === true,
      isOperator: facts["is_operator"] === true,
      dataDir: toText(facts["data_dir"]),
    };
  },
});

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: async ({ signal }): Promise<readonly ListedKey[]> =>
    ((await getJson(toEndpointPath("/ui/keys"), signal)) as readonly JsonObject[]).map((key) => ({
      id: String(key["id"]),
      tenantId: String(key["tenant_id"]),
      name: String(key["name"]),
      hint: String(key["hint"]),
      scopes: Array.isArray(key["scopes"]) ? key["scopes"].map(String) : [],
      createdAt: String(key["created_at"]),
      revokedAt: toText(key["revoked_at"]),
    })),
});

export const tenantsQuery = queryOptions({
  queryKey: ["tenants"],
  queryFn: async ({ signal }): Promise<readonly ListedTenant[]> =>
    ((await getJson(toEndpointPath("/ui/tenants"), signal)) as readonly JsonObject[]).map(
      (tenant) => ({
        id: String(tenant["id"]),
        handle: toText(tenant["handle"]),
        displayName: String(tenant["display_name"]),
      }),
    ),
});

/** The number of projects in one page of {@link createStorageQuery}. */
export const storagePageSize = 20;

export const createStorageQuery = (offset: number) =>
  queryOptions({
    queryKey: ["storage", offset],
    queryFn: async ({ signal }): Promise<StorageUsage> => {
      // Request one project more than is shown. If the response contains it, another page follows.
      const path = `${toEndpointPath("/ui/storage")}?limit=${storagePageSize + 1}&offset=${offset}`;
      const usage = (await getJson(path, signal)) as JsonObject;
      const attachmentUsage = usage["attachments"] as JsonObject;
      const projects = usage["projects"] as readonly JsonObject[];
      return {
        limits: (usage["limits"] as readonly JsonObject[]).map(({ limit, max, used }) => ({
          limit: String(limit),
          max: Number(max),
          used: used === null ? undefined : Number(used),
        })),
        databaseBytes: Number(usage["database_bytes"]),
        freeBytes: Number(usage["free_bytes"]),
        attachments: {
          count: Number(attachmentUsage["count"]),
          bytes: Number(attachmentUsage["bytes"]),
          isComplete: attachmentUsage["is_complete"] === true,
        },
        projects: projects.slice(0, storagePageSize).map((project) => ({
          projectId: String(project["project_id"]),
          name: String(project["name"]),
          count: Number(project["count"]),
          isComplete: project["is_complete"] === true,
          oldest: toText(project["oldest"]),
        })),
        hasMoreProjects: projects.length > storagePageSize,
      };
    },
  });

export const retentionQuery = queryOptions({
  queryKey: ["retention"],
  queryFn: async ({ signal }): Promise<readonly RetentionRule[]> =>
    parseRules(await getJson(toEndpointPath("/ui/retention"), signal)),
});

/** Creates an API key and returns it in plain text. The server never returns it again. */
export async function createKey(draft: {
  readonly name: string;
  readonly scope: KeyScope;
  readonly tenantId?: string;
}): Promise<string> {
  const body = {
    name: draft.name,
    scopes: [draft.scope],
    ...(draft.tenantId === undefined ? {} : { tenant_id: draft.tenantId }),
  };
  const { key } = (await postJson(toEndpointPath("/ui/keys"), body)) as JsonObject;
  return String(key);
}

export const revokeKey = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/ui/keys/:id", { id }));

export const createTenant = async (draft: {
  readonly handle: string;
  readonly displayName: string;
}): Promise<unknown> =>
  postJson(toEndpointPath("/ui/tenants"), {
    handle: draft.handle,
    display_name: draft.displayName,
  });

/**
 * Sets the retention rule of a project, or of all projects if `projectId` is `null`. Without `days`, removes the rule.
 */
export const setRetention = async (
  projectId: string | null,
  days: number | null | undefined,
): Promise<readonly RetentionRule[]> =>
  parseRules(
    await putJson(toEndpointPath("/ui/retention"), {
      project_id: projectId,
      ...(days === undefined ? {} : { days }),
    }),
  );

const parseRules = (value: unknown): readonly RetentionRule[] =>
  (value as readonly JsonObject[]).map((rule) => ({
    projectId: toText(rule["project_id"]) ?? null,
    days: typeof rule["days"] === "number" ? rule["days"] : null,
  }));

const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
