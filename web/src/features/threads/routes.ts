import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseThreadSearch, parseThreadsSearch } from "./thread-search.ts";

const getParentRoute = () => rootRoute;

export const threadsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/threads",
    staticData: { page: { title: "Threads", keys: "g t" } },
    validateSearch: parseThreadsSearch,
    component: createLazyView(async () => import("./threads.tsx"), "Threads"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/thread",
    validateSearch: parseThreadSearch,
    component: createLazyView(async () => import("./thread.tsx"), "ThreadPage"),
  }),
] as const;
