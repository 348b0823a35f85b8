import { createRoute } from "@tanstack/react-router";
import { parseRunsSearch } from "../../features/trace/runs-search.ts";
import { lazyView } from "../../components/page/lazy-view.ts";
import { rootRoute } from "../../components/page/root-route.tsx";

const getParentRoute = () => rootRoute;

export const runsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId",
    validateSearch: parseRunsSearch,
    component: lazyView(async () => import("./project-page.tsx"), "Project"),
  }),
] as const;
