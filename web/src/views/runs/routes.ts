import { createRoute } from "@tanstack/react-router";
import { parseRunsSearch } from "../../lib/runs-search.ts";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const runsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId",
    validateSearch: parseRunsSearch,
    component: lazyView(async () => import("./project.tsx"), "Project"),
  }),
] as const;
