import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseSharedSearch } from "../datasets/dataset-search.ts";

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
