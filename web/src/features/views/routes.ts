import { createRoute } from "@tanstack/react-router";
import { toSearchText } from "../../api/parse.ts";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const viewsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/views",
    staticData: { page: { title: "Saved views", keys: "g v" } },
    validateSearch: parseViewsSearch,
    component: createLazyView(async () => import("./views.tsx"), "Views"),
  }),
] as const;

/** Search parameters in the URL of the saved views of a project. */
interface ViewsSearch {
  /** The filter of the run list from which the user came, to be saved as a view. */
  readonly filter?: string;
}

function parseViewsSearch({ filter }: Readonly<Record<string, unknown>>): ViewsSearch {
  const text = toSearchText(filter);
  return text === undefined ? {} : { filter: text };
}
