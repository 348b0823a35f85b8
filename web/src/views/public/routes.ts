import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { parseSharedSearch } from "../../lib/dataset-search.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const publicRoutes = [
  createRoute({
    getParentRoute,
    path: "/public/$token/d",
    validateSearch: parseSharedSearch,
    component: lazyRouteComponent(async () => import("./shared-dataset.tsx"), "SharedDataset"),
  }),
  createRoute({
    getParentRoute,
    path: "/public/$token/r",
    component: lazyRouteComponent(async () => import("./shared-run.tsx"), "SharedRun"),
  }),
] as const;
