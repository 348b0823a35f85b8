import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { promptSorts, repoTypes } from "./prompt.ts";
import type { CommitQuery, PromptQuery } from "./prompt.ts";
import { allValues, firstValue, parseCount, parseId, parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Parameters that filter by properties that prompts on this server do not have. */
const unsupportedParameters = ["tag_value_id", "upstream_repo_owner", "upstream_repo_handle"];

/**
 * Parses the query string of a list of prompts.
 *
 * @throws RequestError 422: a parameter has an invalid value or is not supported.
 */
export function parsePromptQuery(query: QueryString): PromptQuery {
  const unsupportedName = unsupportedParameters.find((name) => readText(query, name) !== undefined);
  if (unsupportedName !== undefined || parseBoolean(query, "with_latest_manifest") === true) {
    throw new RequestError(
      422,
      `${unsupportedName ?? "with_latest_manifest"} is not supported by this server: remove it`,
    );
  }
  const tenantId = readText(query, "tenant_id");
  const parsed = {
    text: readText(query, "query"),
    tenantId: tenantId === undefined ? undefined : parseId(tenantId, "tenant_id"),
    tenantHandle: readText(query, "tenant_handle"),
    isPublic: parseBoolean(query, "is_public"),
    isArchived: parseArchived(query),
    hasCommits: parseBoolean(query, "has_commits"),
    tags: allValues(query, "tags"),
    source: readText(query, "source"),
  };
  const types = [
    ...(allValues(query, "repo_types") ?? []),
    ...(allValues(query, "repo_type") ?? []),
  ];
  return {
    ...Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined)),
    repoTypes:
      types.length === 0
        ? ["prompt"]
        : types.map((type) => parseName(type, "repo_type", repoTypes)),
    sort: parseName(readText(query, "sort_field") ?? "updated_at", "sort_field", promptSorts),
    direction: parseName(readText(query, "sort_direction") ?? "desc", "sort_direction", directions),
    ...parsePage(query),
  };
}

/**
 * Parses the query string of a list of commits.
 *
 * @throws RequestError 422: a parameter has an invalid value.
 */
export function parseCommitQuery(query: QueryString): CommitQuery {
  const tag = readText(query, "tag");
  return { ...(tag === undefined ? {} : { tag }), ...parsePage(query) };
}

const directions = ["asc", "desc"] as const;

const parsePage = (query: QueryString): { readonly limit: number; readonly offset: number } => ({
  limit: parseCount(query, "limit", {
    fallback: serverLimits.promptsDefault,
    min: 1,
    max: serverLimits.promptsMax,
  }),
  offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
});

/**
 * Whether to list archived prompts (`true`), the others (`false`, which is the default), or both
 * (`undefined`).
 */
const parseArchived = (query: QueryString): boolean | undefined =>
  readText(query, "is_archived") === "allow"
    ? undefined
    : (parseBoolean(query, "is_archived") ?? false);

function parseName<Name extends string>(
  value: string,
  parameter: string,
  names: readonly Name[],
): Name {
  const knownName = names.find((name) => name === value);
  if (knownName === undefined) {
    throw new RequestError(
      422,
      `${parameter} must be one of ${names.join(", ")}, not ${JSON.stringify(value.slice(0, 64))}`,
    );
  }
  return knownName;
}

/** Reads a parameter; `undefined` if it is missing or empty. */
const readText = (query: QueryString, name: string): string | undefined => {
  const value = firstValue(query, name);
  return value === "" ? undefined : value;
};
