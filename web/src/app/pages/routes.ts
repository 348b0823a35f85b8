import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseDatasetSearch } from "../../features/datasets/dataset-search.ts";
import { parseRunsSearch } from "../../features/trace/project-search.ts";

const getParentRoute = () => rootRoute;

/**
 * The routes of views that combine several features. They are defined here so that features need not import each other.
 */
export const sharedPageRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId",
    validateSearch: parseRunsSearch,
    component: createLazyView(async () => import("./project-page.tsx"), "ProjectPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId",
    validateSearch: parseDatasetSearch,
    component: createLazyView(async () => import("./dataset-page.tsx"), "DatasetPage"),
  }),
] as const;
