import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const homeRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    component: lazyRouteComponent(async () => import("./home.tsx"), "Home"),
  }),
] as const;
