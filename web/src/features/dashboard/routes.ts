import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseDashboardSearch } from "./dashboard-search.ts";

const getParentRoute = () => rootRoute;

export const dashboardRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects/p/$projectId/dashboard",
    staticData: { page: { title: "Dashboard", keys: "g b" } },
    validateSearch: parseDashboardSearch,
    component: createLazyView(async () => import("./dashboard.tsx"), "Dashboard"),
  }),
] as const;
