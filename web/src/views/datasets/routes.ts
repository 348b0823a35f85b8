import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const datasetsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets",
    component: lazyRouteComponent(async () => import("./datasets.tsx"), "Datasets"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId",
    component: lazyRouteComponent(async () => import("./dataset.tsx"), "Dataset"),
  }),
] as const;
