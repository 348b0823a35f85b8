import { toItems, toSearchText } from "../../api/parse.ts";

/** What a list of prompts is sorted by, as the server calls it. */
export const promptSorts = ["updated_at", "repo_handle", "num_likes", "num_downloads"] as const;
export type PromptSortField = (typeof promptSorts)[number];

/** What the address of a list of prompts narrows and sorts it by. */
export interface PromptsSearch {
  readonly q?: string;
  readonly tags?: readonly string[];
  readonly sort?: PromptSortField;
  readonly order?: "asc" | "desc";
  /** Archived ones, instead of the others. */
  readonly archived?: true;
}

/** Reads the query of an address; what means nothing is left out. */
export function parsePromptsSearch(search: Readonly<Record<string, unknown>>): PromptsSearch {
  const { q, tags, sort, order, archived } = search;
  const field = promptSorts.find((one) => one === sort);
  const text = toSearchText(q);
  const texts = toItems(Array.isArray(tags) ? tags : [tags]).flatMap(
    (tag) => toSearchText(tag) ?? [],
  );
  return {
    ...(text === undefined ? {} : { q: text }),
    ...(texts.length > 0 ? { tags: texts } : {}),
    ...(field === undefined ? {} : { sort: field }),
    ...(order === "asc" || order === "desc" ? { order } : {}),
    ...(archived === true ? { archived } : {}),
  };
}

/** The query of the server's list. */
export function toPromptQuery(
  search: PromptsSearch,
  address: { readonly tenantId?: string },
): string {
  const { q, tags = [], sort = "updated_at", archived } = search;
  const order = search.order ?? (sort === "repo_handle" ? "asc" : "desc");
  const query = new URLSearchParams({ sort_field: sort, sort_direction: order });
  if (q !== undefined) {
    query.set("query", q);
  }
  tags.forEach((tag) => query.append("tags", tag));
  query.set("is_archived", archived === true ? "true" : "false");
  if (address.tenantId === undefined) {
    query.set("is_public", "true");
  } else {
    query.set("tenant_id", address.tenantId);
  }
  return query.toString();
}

export const promptTabs = ["messages", "commits", "readme", "pull", "settings"] as const;
export type PromptTab = (typeof promptTabs)[number];

/** What the address of a prompt's page selects. */
export interface PromptSearch {
  readonly tab?: PromptTab;
  /** The commit that the one of the address is compared with. */
  readonly against?: string;
  /** Whose prompt it is, in addresses that clients make. */
  readonly organizationId?: string;
}

export function parsePromptSearch(search: Readonly<Record<string, unknown>>): PromptSearch {
  const { tab, against, organizationId } = search;
  const known = promptTabs.find((one) => one === tab);
  return {
    ...(known === undefined ? {} : { tab: known }),
    ...(typeof against === "string" && /^[\da-f]{4,64}$/i.test(against) ? { against } : {}),
    ...(typeof organizationId === "string" ? { organizationId } : {}),
  };
}
