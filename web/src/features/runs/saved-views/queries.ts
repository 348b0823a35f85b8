import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../../api/http.ts";
import { parseView, parseViews, toListQuery } from "./view.ts";
import type { ListState, View } from "./view.ts";

/** The fields of a view that a person can edit. An empty text removes the description or the filter. */
export type ViewDraft = Readonly<Record<"name" | "description" | "filter", string>> & {
  readonly list: ListState;
};

const pageSize = 100;

/** The saved views of a project, sorted by name, in pages. */
export const createViewsQuery = (projectId: string) =>
  infiniteQueryOptions({
    queryKey: ["views", projectId],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: String(pageSize), offset: String(pageParam) });
      const path = toEndpointPath("/sessions/:id/views", { id: projectId });
      return parseViews(await getJson(`${path}?${query}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly View[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
  });

export const createViewQuery = (projectId: string, viewId: string) =>
  queryOptions({
    queryKey: ["views", projectId, viewId],
    queryFn: async ({ signal }) => parseView(await getJson(toViewPath(projectId, viewId), signal)),
  });

/** Updates the view with the id `viewId`, or creates a view if `viewId` is `undefined`. */
export async function saveView(
  projectId: string,
  viewId: string | undefined,
  { name, description, filter, list }: ViewDraft,
): Promise<void> {
  const body = {
    display_name: name.trim(),
    description,
    filter_string: filter.trim(),
    list_query: toListQuery(list),
  };
  await (viewId === undefined
    ? postJson(toEndpointPath("/sessions/:id/views", { id: projectId }), body)
    : patchJson(toViewPath(projectId, viewId), body));
}

export const deleteView = async (projectId: string, viewId: string): Promise<unknown> =>
  deleteJson(toViewPath(projectId, viewId));

const toViewPath = (id: string, viewId: string): string =>
  toEndpointPath("/sessions/:id/views/:viewId", { id, viewId });
