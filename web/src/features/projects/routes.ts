import { createRoute } from "@tanstack/react-router";
import { parseProjectsSearch } from "./projects-search.ts";
import { lazyView } from "../../components/page/lazy-view.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    validateSearch: parseProjectsSearch,
    component: lazyView(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;
