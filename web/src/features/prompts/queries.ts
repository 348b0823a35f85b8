import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import { toRecord } from "../../api/parse.ts";
import {
  parseCommit,
  parseCommitPage,
  parseCommitTags,
  parsePrompt,
  parsePromptPage,
  parsePulledCommit,
} from "./prompt.ts";
import type { Commit, CommitPage, Prompt, PromptListPage } from "./prompt.ts";
import { toPromptQuery } from "./prompts-search.ts";
import type { PromptsSearch } from "./prompts-search.ts";

const reposPath = endpointPath("/repos");
const pageSize = 50;

/** The owner and the name of a prompt. The owner `-` is the current tenant. */
export interface PromptAddress {
  readonly owner: string;
  readonly repo: string;
}

/** The prompts of a tenant, or without one the public prompts of all tenants, in pages. */
export const promptsQuery = (search: PromptsSearch, scope: { readonly tenantId?: string }) =>
  infiniteQueryOptions({
    queryKey: ["prompts", "list", search, scope.tenantId],
    queryFn: async ({ pageParam, signal }) =>
      parsePromptPage(
        await getJson(
          `${reposPath}?${toPromptQuery(search, scope)}&limit=${pageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: PromptListPage, pages) =>
      page.prompts.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
  });

export const promptQuery = (address: PromptAddress) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo],
    queryFn: async ({ signal }): Promise<Prompt> =>
      parsePrompt(
        toRecord(await getJson(endpointPath("/repos/:owner/:repo", address), signal))["repo"],
      ),
  });

/** The commits of a prompt, newest first, in pages. */
export const commitsQuery = (address: PromptAddress) =>
  infiniteQueryOptions({
    queryKey: ["prompts", address.owner, address.repo, "commits"],
    queryFn: async ({ pageParam, signal }) =>
      parseCommitPage(
        await getJson(
          `${endpointPath("/commits/:owner/:repo", address)}?limit=${pageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: CommitPage, pages) =>
      page.commits.length < pageSize ? undefined : pages.length * pageSize,
  });

/** A commit with its manifest, by hash, by the beginning of a hash, by tag, or `latest`. The server counts a view. */
export const commitQuery = (address: PromptAddress, commit: string) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo, "commit", commit],
    queryFn: async ({ signal }) =>
      parsePulledCommit(
        await getJson(
          `${endpointPath("/commits/:owner/:repo/:commit", { ...address, commit })}?is_view=true`,
          signal,
        ),
      ),
    staleTime: 30_000,
  });

export const commitTagsQuery = (address: PromptAddress) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo, "tags"],
    queryFn: async ({ signal }) =>
      parseCommitTags(await getJson(endpointPath("/repos/:owner/:repo/tags", address), signal)),
  });

/** The fields of a prompt that a user can edit. An update keeps the fields that are left out. */
export interface PromptFields {
  readonly description?: string;
  readonly readme?: string;
  readonly tags?: readonly string[];
  readonly is_public?: boolean;
  readonly is_archived?: boolean;
}

export const createPrompt = async (
  fields: PromptFields & { readonly repo_handle: string; readonly is_public: boolean },
): Promise<Prompt> => parsePrompt(toRecord(await postJson(reposPath, fields))["repo"]);

export const updatePrompt = async (
  address: PromptAddress,
  fields: PromptFields,
): Promise<unknown> => patchJson(endpointPath("/repos/:owner/:repo", address), fields);

export const deletePrompt = async (address: PromptAddress): Promise<unknown> =>
  deleteJson(endpointPath("/repos/:owner/:repo", address));

export const likePrompt = async (address: PromptAddress, isLiked: boolean): Promise<unknown> =>
  postJson(endpointPath("/likes/:owner/:repo", address), { like: isLiked });

/** @throws ApiError 409: the parent is not the latest commit, or nothing changed. */
export const commitManifest = async (
  address: PromptAddress,
  draft: {
    readonly manifest: unknown;
    readonly parent_commit?: string;
    readonly description?: string;
  },
): Promise<Commit> =>
  parseCommit(
    toRecord(
      toRecord(await postJson(endpointPath("/commits/:owner/:repo", address), draft))["commit"],
    ),
  );

/** Tags a commit. A tag that another commit has moves to this one. */
export const tagCommit = async (
  address: PromptAddress,
  tag: { readonly tag_name: string; readonly commit_id: string },
): Promise<unknown> => postJson(endpointPath("/repos/:owner/:repo/tags", address), tag);

export const untagCommit = async (address: PromptAddress, name: string): Promise<unknown> =>
  deleteJson(endpointPath("/repos/:owner/:repo/tags/:tag", { ...address, tag: name }));
