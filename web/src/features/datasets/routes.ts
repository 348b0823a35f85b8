import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseDatasetsSearch } from "./dataset-search.ts";

const getParentRoute = () => rootRoute;

export const datasetsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/datasets",
    staticData: {
      page: {
        title: "Datasets",
        label: "Datasets",
        keys: "g d",
        icon: "M3 4c0-2.7 10-2.7 10 0s-10 2.7-10 0v8c0 2.7 10 2.7 10 0V4M3 8c0 2.7 10 2.7 10 0",
      },
    },
    validateSearch: parseDatasetsSearch,
    component: createLazyView(async () => import("./datasets.tsx"), "Datasets"),
  }),
] as const;
