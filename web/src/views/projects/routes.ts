import { createRoute } from "@tanstack/react-router";
import { parseProjectsSearch } from "../../lib/projects-search.ts";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    validateSearch: parseProjectsSearch,
    component: lazyView(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;
