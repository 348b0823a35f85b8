import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    component: lazyRouteComponent(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;
