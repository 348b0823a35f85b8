import { toItems, toSearchText } from "../../api/parse.ts";

/** The fields by which the server can sort prompts. */
export const promptSorts = ["updated_at", "repo_handle", "num_likes", "num_downloads"] as const;
export type PromptSortField = (typeof promptSorts)[number];

/** Search parameters in the URL of a prompt list. */
export interface PromptsSearch {
  /** Text that the name or the description must contain. */
  readonly q?: string;
  readonly tags?: readonly string[];
  readonly sort?: PromptSortField;
  readonly order?: "asc" | "desc";
  /** Whether archived prompts are listed instead of active ones. */
  readonly archived?: true;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parsePromptsSearch(search: Readonly<Record<string, unknown>>): PromptsSearch {
  const { q, tags, sort, order, archived } = search;
  const field = promptSorts.find((name) => name === sort);
  const text = toSearchText(q);
  const tagNames = toItems(Array.isArray(tags) ? tags : [tags]).flatMap(
    (tag) => toSearchText(tag) ?? [],
  );
  return {
    ...(text === undefined ? {} : { q: text }),
    ...(tagNames.length > 0 ? { tags: tagNames } : {}),
    ...(field === undefined ? {} : { sort: field }),
    ...(order === "asc" || order === "desc" ? { order } : {}),
    ...(archived === true ? { archived } : {}),
  };
}

/** Returns the query string of the request that lists a tenant's prompts or, without a tenant, all public prompts. */
export function toPromptQuery(
  search: PromptsSearch,
  scope: { readonly tenantId?: string },
): string {
  const { q, tags = [], sort = "updated_at", archived } = search;
  const order = search.order ?? (sort === "repo_handle" ? "asc" : "desc");
  const query = new URLSearchParams({ sort_field: sort, sort_direction: order });
  if (q !== undefined) {
    query.set("query", q);
  }
  tags.forEach((tag) => query.append("tags", tag));
  query.set("is_archived", archived === true ? "true" : "false");
  if (scope.tenantId === undefined) {
    query.set("is_public", "true");
  } else {
    query.set("tenant_id", scope.tenantId);
  }
  return query.toString();
}

export const promptTabs = ["messages", "commits", "readme", "pull", "settings"] as const;
export type PromptTab = (typeof promptTabs)[number];

/** Search parameters in the URL of a prompt's page. */
export interface PromptSearch {
  readonly tab?: PromptTab;
  /** Hash of the commit to compare with. */
  readonly against?: string;
  /**
   * Id of the prompt's tenant. URLs that an SDK prints contain the id, and `api/access.ts` selects the tenant by it.
   */
  readonly organizationId?: string;
}

export function parsePromptSearch(search: Readonly<Record<string, unknown>>): PromptSearch {
  const { tab, against, organizationId } = search;
  const knownTab = promptTabs.find((name) => name === tab);
  return {
    ...(knownTab === undefined ? {} : { tab: knownTab }),
    ...(typeof against === "string" && /^[\da-f]{4,64}$/i.test(against) ? { against } : {}),
    ...(typeof organizationId === "string" ? { organizationId } : {}),
  };
}
