import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { parseCompareSearch } from "../../lib/compare-search.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const experimentsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId/compare",
    validateSearch: parseCompareSearch,
    component: lazyRouteComponent(async () => import("./compare.tsx"), "Compare"),
  }),
] as const;
