import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseSharedSearch } from "../datasets/dataset-search.ts";

const getParentRoute = () => rootRoute;

export const sharedRoutes = [
  createRoute({
    getParentRoute,
    path: "/public/$token/d",
    validateSearch: parseSharedSearch,
    component: createLazyView(async () => import("./shared-dataset.tsx"), "SharedDataset"),
  }),
  createRoute({
    getParentRoute,
    path: "/public/$token/r",
    component: createLazyView(async () => import("./shared-run.tsx"), "SharedRun"),
  }),
] as const;
