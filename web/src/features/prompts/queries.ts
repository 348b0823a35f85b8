import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
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

const reposPath = toEndpointPath("/repos");
const pageSize = 50;

/** The owner and the name of a prompt. The owner `-` is the current tenant. */
export interface PromptAddress {
  readonly owner: string;
  readonly repo: string;
}

/** The prompts of a tenant or, without `tenantId`, the public prompts of all tenants, in pages. */
export const createPromptsQuery = (search: PromptsSearch, scope: { readonly tenantId?: string }) =>
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

export const createPromptQuery = (address: PromptAddress) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo],
    queryFn: async ({ signal }): Promise<Prompt> =>
      parsePrompt(
        toRecord(await getJson(toEndpointPath("/repos/:owner/:repo", address), signal))["repo"],
      ),
  });

/** The commits of a prompt, newest first, in pages. */
export const createCommitsQuery = (address: PromptAddress) =>
  infiniteQueryOptions({
    queryKey: ["prompts", address.owner, address.repo, "commits"],
    queryFn: async ({ pageParam, signal }) =>
      parseCommitPage(
        await getJson(
          `${toEndpointPath("/commits/:owner/:repo", address)}?limit=${pageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: CommitPage, pages) =>
      page.commits.length < pageSize ? undefined : pages.length * pageSize,
  });

/** Reads a commit with its manifest. `commit` is a hash, the beginning of a hash, a tag or `latest`. */
export const createCommitQuery = (address: PromptAddress, commit: string) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo, "commit", commit],
    queryFn: async ({ signal }) =>
      parsePulledCommit(
        await getJson(
          `${toEndpointPath("/commits/:owner/:repo/:commit", { ...address, commit })}?is_view=true&include_model=true`,
          signal,
        ),
      ),
    staleTime: 30_000,
  });

export const createCommitTagsQuery = (address: PromptAddress) =>
  queryOptions({
    queryKey: ["prompts", address.owner, address.repo, "tags"],
    queryFn: async ({ signal }) =>
      parseCommitTags(await getJson(toEndpointPath("/repos/:owner/:repo/tags", address), signal)),
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
): Promise<unknown> => patchJson(toEndpointPath("/repos/:owner/:repo", address), fields);

export const deletePrompt = async (address: PromptAddress): Promise<unknown> =>
  deleteJson(toEndpointPath("/repos/:owner/:repo", address));

export const setPromptLike = async (
  address: PromptAddress,
  shouldLike: boolean,
): Promise<unknown> =>
  postJson(toEndpointPath("/likes/:owner/:repo", address), { like: shouldLike });

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
      toRecord(await postJson(toEndpointPath("/commits/:owner/:repo", address), draft))["commit"],
    ),
  );

/** Tags a commit. If another commit has the tag, the tag moves to this commit. */
export const tagCommit = async (
  address: PromptAddress,
  tag: { readonly tag_name: string; readonly commit_id: string },
): Promise<unknown> => postJson(toEndpointPath("/repos/:owner/:repo/tags", address), tag);

export const untagCommit = async (address: PromptAddress, name: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/repos/:owner/:repo/tags/:tag", { ...address, tag: name }));
