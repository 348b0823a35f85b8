import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";

/** A named resource that the palette can open. */
export interface SearchResult {
  readonly kind: "project" | "dataset" | "queue" | "prompt";
  readonly id: string;
  readonly name: string;
}

/** The most results of each kind. */
const resultMax = 6;

/** Projects, datasets, queues and prompts whose name contains the text. */
export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["palette", text],
    queryFn: async ({ signal }): Promise<readonly SearchResult[]> => {
      const searchByName = (path: string): Promise<unknown> => {
        const query = new URLSearchParams({ name_contains: text, limit: String(resultMax) });
        return getJson(`${path}?${query}`, signal);
      };
      const prompts = new URLSearchParams({ query: text, limit: String(resultMax) });
      const [projects, datasets, queues, hub] = await Promise.all([
        searchByName(endpointPath("/sessions")),
        searchByName(endpointPath("/datasets")),
        searchByName(endpointPath("/annotation-queues")),
        getJson(`${endpointPath("/repos")}?${prompts}`, signal),
      ]);
      return [
        ...toSearchResults("project", projects),
        ...toSearchResults("dataset", datasets),
        ...toSearchResults("queue", queues),
        ...toSearchResults("prompt", (hub as { readonly repos?: unknown }).repos, "repo_handle"),
      ];
    },
    staleTime: 10_000,
  });

function toSearchResults(
  kind: SearchResult["kind"],
  list: unknown,
  nameField = "name",
): readonly SearchResult[] {
  return (Array.isArray(list) ? (list as readonly Readonly<Record<string, unknown>>[]) : [])
    .slice(0, resultMax)
    .map((item) => ({ kind, id: String(item["id"]), name: String(item[nameField]) }));
}
