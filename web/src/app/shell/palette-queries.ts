import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";

/** Something with a name that the palette can go to. */
export interface SearchResult {
  readonly kind: "project" | "dataset" | "queue" | "prompt";
  readonly id: string;
  readonly name: string;
}

const resultMax = 6;

/** Projects, datasets, queues and prompts that have a text in their name. */
export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["found", text],
    queryFn: async ({ signal }): Promise<readonly SearchResult[]> => {
      const named = (path: string): Promise<unknown> => {
        const query = new URLSearchParams({ name_contains: text, limit: String(resultMax) });
        return getJson(`${path}?${query}`, signal);
      };
      const prompts = new URLSearchParams({ query: text, limit: String(resultMax) });
      const [projects, datasets, queues, hub] = await Promise.all([
        named(endpointPath("/sessions")),
        named(endpointPath("/datasets")),
        named(endpointPath("/annotation-queues")),
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
    .map((one) => ({ kind, id: String(one["id"]), name: String(one[nameField]) }));
}
