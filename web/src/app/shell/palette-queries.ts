import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";

/** A named resource that the palette can open. */
export interface SearchResult {
  readonly kind: "project" | "dataset" | "queue" | "prompt";
  readonly id: string;
  readonly name: string;
}

/** The maximum number of results of each kind. */
const maxResults = 6;

/** Projects, datasets, queues and prompts whose name contains the text. */
export const createSearchQuery = (text: string) =>
  queryOptions({
    queryKey: ["palette", text],
    queryFn: async ({ signal }): Promise<readonly SearchResult[]> => {
      const searchByName = (path: string): Promise<unknown> => {
        const query = new URLSearchParams({ name_contains: text, limit: String(maxResults) });
        return getJson(`${path}?${query}`, signal);
      };
      const promptParameters = new URLSearchParams({ query: text, limit: String(maxResults) });
      const [projects, datasets, queues, promptsResponse] = await Promise.all([
        searchByName(toEndpointPath("/sessions")),
        searchByName(toEndpointPath("/datasets")),
        searchByName(toEndpointPath("/annotation-queues")),
        getJson(`${toEndpointPath("/repos")}?${promptParameters}`, signal),
      ]);
      return [
        ...toSearchResults("project", projects),
        ...toSearchResults("dataset", datasets),
        ...toSearchResults("queue", queues),
        ...toSearchResults(
          "prompt",
          (promptsResponse as { readonly repos?: unknown }).repos,
          "repo_handle",
        ),
      ];
    },
    staleTime: 10_000,
  });

function toSearchResults(
  kind: SearchResult["kind"],
  items: unknown,
  nameField = "name",
): readonly SearchResult[] {
  return (Array.isArray(items) ? (items as readonly Readonly<Record<string, unknown>>[]) : [])
    .slice(0, maxResults)
    .map((item) => ({ kind, id: String(item["id"]), name: String(item[nameField]) }));
}
