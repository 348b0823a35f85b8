import { createRoute } from "@tanstack/react-router";
import { parseSharedSearch } from "../datasets/dataset-search.ts";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const sharedRoutes = [
  createRoute({
    getParentRoute,
    path: "/public/$token/d",
    validateSearch: parseSharedSearch,
    component: lazyView(async () => import("./shared-dataset.tsx"), "SharedDataset"),
  }),
  createRoute({
    getParentRoute,
    path: "/public/$token/r",
    component: lazyView(async () => import("./shared-run.tsx"), "SharedRun"),
  }),
] as const;
