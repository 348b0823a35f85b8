import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../../components/page/load-part.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const homeRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    component: lazyView(async () => import("./overview.tsx"), "Home"),
  }),
] as const;
