import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { RunListSearch } from "../runs/run-list-search.ts";

const getParentRoute = () => rootRoute;

export const viewsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/views",
    staticData: { page: { title: "Saved views", keys: "g v" } },
    validateSearch: parseViewsSearch,
    component: createLazyView(async () => import("./views.tsx"), "Views"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/views/$viewId",
    component: createLazyView(async () => import("./open-view.tsx"), "OpenView"),
  }),
] as const;

/** The filter and the state of the run list from which the user came, to be saved as a view. */
type ViewsSearch = Omit<RunListSearch, "selected" | "compare">;

function parseViewsSearch(search: Readonly<Record<string, unknown>>): ViewsSearch {
  const { selected: _selected, compare: _compare, ...listSearch } = parseListSearch(search);
  return listSearch;
}
