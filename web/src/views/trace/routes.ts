import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const traceRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/r/$runId",
    component: lazyRouteComponent(async () => import("./run-link.tsx"), "RunLink"),
  }),
] as const;
