import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const homeRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    component: lazyView(async () => import("./home.tsx"), "Home"),
  }),
] as const;
