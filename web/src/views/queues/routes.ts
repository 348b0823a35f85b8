import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { parseQueueSearch, parseQueuesSearch } from "../../lib/queue-search.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const queuesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues",
    validateSearch: parseQueuesSearch,
    component: lazyRouteComponent(async () => import("./queues.tsx"), "Queues"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues/$queueId",
    validateSearch: parseQueueSearch,
    component: lazyRouteComponent(async () => import("./queue.tsx"), "Queue"),
  }),
] as const;
