import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const settingsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/settings",
    component: lazyRouteComponent(async () => import("./settings.tsx"), "Settings"),
  }),
] as const;
