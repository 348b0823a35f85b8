import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, postJson, putJson } from "../../api/http.ts";

/** The description of the server. */
export interface ServerFacts {
  readonly version: string;
  readonly needsKey: boolean;
  /** Whether this browser may manage other tenants. */
  readonly isOperator: boolean;
  /** Said on the server's own machine only. */
  readonly dataDir: string | undefined;
}

export interface ListedKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The last characters of the key. */
  readonly hint: string;
  readonly createdAt: string;
  readonly revokedAt: string | undefined;
}

export interface ListedTenant {
  readonly id: string;
  readonly handle: string | undefined;
  readonly displayName: string;
}

export interface ProjectUse {
  readonly projectId: string;
  readonly name: string;
  readonly count: number;
  readonly isComplete: boolean;
  readonly oldest: string | undefined;
}

export interface StorageUse {
  readonly databaseBytes: number;
  readonly freeBytes: number;
  readonly attachments: {
    readonly count: number;
    readonly bytes: number;
    readonly isComplete: boolean;
  };
  readonly projects: readonly ProjectUse[];
}

/** For how long runs are kept; `null`: for ever. */
export interface RetentionRule {
  readonly projectId: string | null;
  readonly days: number | null;
}

type Json = Readonly<Record<string, unknown>>;

export const serverFactsQuery = queryOptions({
  queryKey: ["server-facts"],
  queryFn: async ({ signal }): Promise<ServerFacts> => {
    const facts = (await getJson(endpointPath("/ui/server"), signal)) as Json;
    return {
      version: String(facts["version"]),
      needsKey: facts["needs_key"] === true,
      isOperator: facts["is_operator"] === true,
      dataDir: textOf(facts["data_dir"]),
    };
  },
});

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: async ({ signal }): Promise<readonly ListedKey[]> =>
    ((await getJson(endpointPath("/ui/keys"), signal)) as readonly Json[]).map((key) => ({
      id: String(key["id"]),
      tenantId: String(key["tenant_id"]),
      name: String(key["name"]),
      hint: String(key["hint"]),
      createdAt: String(key["created_at"]),
      revokedAt: textOf(key["revoked_at"]),
    })),
});

export const tenantsQuery = queryOptions({
  queryKey: ["tenants"],
  queryFn: async ({ signal }): Promise<readonly ListedTenant[]> =>
    ((await getJson(endpointPath("/ui/tenants"), signal)) as readonly Json[]).map((tenant) => ({
      id: String(tenant["id"]),
      handle: textOf(tenant["handle"]),
      displayName: String(tenant["display_name"]),
    })),
});

/** Projects in one page of {@link storageQuery}. */
export const storagePage = 20;

export const storageQuery = (offset: number) =>
  queryOptions({
    queryKey: ["storage", offset],
    queryFn: async ({ signal }): Promise<StorageUse> => {
      const path = `${endpointPath("/ui/storage")}?limit=${storagePage}&offset=${offset}`;
      const use = (await getJson(path, signal)) as Json;
      const files = use["attachments"] as Json;
      return {
        databaseBytes: Number(use["database_bytes"]),
        freeBytes: Number(use["free_bytes"]),
        attachments: {
          count: Number(files["count"]),
          bytes: Number(files["bytes"]),
          isComplete: files["is_complete"] === true,
        },
        projects: (use["projects"] as readonly Json[]).map((project) => ({
          projectId: String(project["project_id"]),
          name: String(project["name"]),
          count: Number(project["count"]),
          isComplete: project["is_complete"] === true,
          oldest: textOf(project["oldest"]),
        })),
      };
    },
  });

export const retentionQuery = queryOptions({
  queryKey: ["retention"],
  queryFn: async ({ signal }): Promise<readonly RetentionRule[]> =>
    parseRules(await getJson(endpointPath("/ui/retention"), signal)),
});

/** The key in clear: the server returns it only once. */
export async function createKey(draft: {
  readonly name: string;
  readonly tenantId?: string;
}): Promise<string> {
  const body = {
    name: draft.name,
    ...(draft.tenantId === undefined ? {} : { tenant_id: draft.tenantId }),
  };
  const { key } = (await postJson(endpointPath("/ui/keys"), body)) as Json;
  return String(key);
}

export const revokeKey = async (id: string): Promise<unknown> =>
  deleteJson(endpointPath("/ui/keys/:id", { id }));

export const createTenant = async (draft: {
  readonly handle: string;
  readonly displayName: string;
}): Promise<unknown> =>
  postJson(endpointPath("/ui/tenants"), { handle: draft.handle, display_name: draft.displayName });

/** Without days the rule is taken away. */
export const setRetention = async (
  projectId: string | null,
  days: number | null | undefined,
): Promise<readonly RetentionRule[]> =>
  parseRules(
    await putJson(endpointPath("/ui/retention"), {
      project_id: projectId,
      ...(days === undefined ? {} : { days }),
    }),
  );

const parseRules = (value: unknown): readonly RetentionRule[] =>
  (value as readonly Json[]).map((rule) => ({
    projectId: textOf(rule["project_id"]) ?? null,
    days: typeof rule["days"] === "number" ? rule["days"] : null,
  }));

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
