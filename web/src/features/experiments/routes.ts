import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseCompareSearch } from "./compare-search.ts";

const getParentRoute = () => rootRoute;

export const experimentsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId/compare",
    validateSearch: parseCompareSearch,
    component: createLazyView(async () => import("./compare.tsx"), "ExperimentComparison"),
  }),
] as const;
