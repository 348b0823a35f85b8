import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const traceRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/r/$runId",
    component: lazyView(async () => import("./run-link.tsx"), "RunLink"),
  }),
] as const;
