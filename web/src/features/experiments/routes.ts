import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseLaunchSearch } from "./launch/launch-search.ts";
import { parseCompareSearch } from "./comparison/compare-search.ts";

const getParentRoute = () => rootRoute;

export const experimentsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId/compare",
    validateSearch: parseCompareSearch,
    component: createLazyView(
      async () => import("./comparison/compare.tsx"),
      "ExperimentComparison",
    ),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId/new-experiment",
    validateSearch: parseLaunchSearch,
    component: createLazyView(async () => import("./launch/new-experiment.tsx"), "NewExperiment"),
  }),
  createRoute({
    getParentRoute,
    path: "/experiments/new",
    validateSearch: parseLaunchSearch,
    component: createLazyView(async () => import("./launch/choose-dataset.tsx"), "ChooseDataset"),
  }),
] as const;
