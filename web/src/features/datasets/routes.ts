import { createRoute } from "@tanstack/react-router";
import { parseDatasetSearch, parseDatasetsSearch } from "./dataset-search.ts";
import { lazyView } from "../../components/page/lazy-view.ts";
import { rootRoute } from "../../components/page/root-route.tsx";

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
    component: lazyView(async () => import("../../app/pages/dataset-page.tsx"), "Dataset"),
  }),
] as const;
