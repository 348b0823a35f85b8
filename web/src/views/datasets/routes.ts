import { createRoute } from "@tanstack/react-router";
import { parseDatasetSearch, parseDatasetsSearch } from "../../lib/dataset-search.ts";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const datasetsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets",
    validateSearch: parseDatasetsSearch,
    component: lazyView(async () => import("./datasets.tsx"), "Datasets"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId",
    validateSearch: parseDatasetSearch,
    component: lazyView(async () => import("./dataset.tsx"), "Dataset"),
  }),
] as const;
