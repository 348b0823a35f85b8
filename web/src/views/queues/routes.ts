import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const queuesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues",
    component: lazyRouteComponent(async () => import("./queues.tsx"), "Queues"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues/$queueId",
    component: lazyRouteComponent(async () => import("./queue.tsx"), "Queue"),
  }),
] as const;
