import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const hubRoutes = [
  createRoute({
    getParentRoute,
    path: "/prompts",
    component: lazyRouteComponent(async () => import("./prompts.tsx"), "Prompts"),
  }),
  createRoute({
    getParentRoute,
    path: "/prompts/$repo",
    component: lazyRouteComponent(async () => import("./prompt.tsx"), "Prompt"),
  }),
  createRoute({
    getParentRoute,
    path: "/prompts/$repo/$commit",
    component: lazyRouteComponent(async () => import("./prompt.tsx"), "Prompt"),
  }),
  createRoute({
    getParentRoute,
    path: "/hub",
    component: lazyRouteComponent(async () => import("./hub.tsx"), "Hub"),
  }),
  createRoute({
    getParentRoute,
    path: "/hub/$owner/$repo",
    component: lazyRouteComponent(async () => import("./prompt.tsx"), "Prompt"),
  }),
  createRoute({
    getParentRoute,
    path: "/hub/$owner/$repo/$commit",
    component: lazyRouteComponent(async () => import("./prompt.tsx"), "Prompt"),
  }),
] as const;
