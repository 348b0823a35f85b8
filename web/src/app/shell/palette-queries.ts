import { queryOptions } from "@tanstack/react-query";
import { getJson } from "../../api/http.ts";

/** Something with a name that the palette can go to. */
export interface Found {
  readonly kind: "project" | "dataset" | "queue" | "prompt";
  readonly id: string;
  readonly name: string;
}

const foundMax = 6;

/** Projects, datasets, queues and prompts that have a text in their name. */
export const foundQuery = (text: string) =>
  queryOptions({
    queryKey: ["found", text],
    queryFn: async ({ signal }): Promise<readonly Found[]> => {
      const named = (path: string): Promise<unknown> => {
        const query = new URLSearchParams({ name_contains: text, limit: String(foundMax) });
        return getJson(`${path}?${query}`, signal);
      };
      const prompts = new URLSearchParams({ query: text, limit: String(foundMax) });
      const [projects, datasets, queues, hub] = await Promise.all([
        named("/sessions"),
        named("/datasets"),
        named("/annotation-queues"),
        getJson(`/repos?${prompts}`, signal),
      ]);
      return [
        ...toFound("project", projects),
        ...toFound("dataset", datasets),
        ...toFound("queue", queues),
        ...toFound("prompt", (hub as { readonly repos?: unknown }).repos, "repo_handle"),
      ];
    },
    staleTime: 10_000,
  });

function toFound(kind: Found["kind"], list: unknown, nameField = "name"): readonly Found[] {
  return (Array.isArray(list) ? (list as readonly Readonly<Record<string, unknown>>[]) : [])
    .slice(0, foundMax)
    .map((one) => ({ kind, id: String(one["id"]), name: String(one[nameField]) }));
}
