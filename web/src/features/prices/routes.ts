import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parsePricesSearch } from "./prices-search.ts";

export const pricesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/o/$tenantId/settings/prices",
    staticData: { page: { title: "Prices", keys: "g c" } },
    validateSearch: parsePricesSearch,
    component: createLazyView(async () => import("./prices.tsx"), "Prices"),
  }),
] as const;
