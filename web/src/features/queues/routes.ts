import { createRoute } from "@tanstack/react-router";
import { parseQueueSearch, parseQueuesSearch } from "./queue-search.ts";
import { lazyView } from "../../components/page/lazy-view.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const queuesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues",
    validateSearch: parseQueuesSearch,
    component: lazyView(async () => import("./queues.tsx"), "Queues"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/annotation-queues/$queueId",
    validateSearch: parseQueueSearch,
    component: lazyView(async () => import("./queue-page.tsx"), "Queue"),
  }),
] as const;
