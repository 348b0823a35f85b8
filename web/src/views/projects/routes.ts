import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { parseProjectsSearch } from "../../lib/projects-search.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    validateSearch: parseProjectsSearch,
    component: lazyRouteComponent(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;
