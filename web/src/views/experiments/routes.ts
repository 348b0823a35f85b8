import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const experimentsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets/$datasetId/compare",
    component: lazyRouteComponent(async () => import("./compare.tsx"), "Compare"),
  }),
] as const;
