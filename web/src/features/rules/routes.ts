import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseRulesSearch } from "./rules-search.ts";

const getParentRoute = () => rootRoute;

export const rulesRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/rules",
    staticData: {
      page: {
        title: "Rules",
        label: "Rules",
        keys: "g r",
        icon: "M3 3h10L9.5 8v4.5L6.5 14V8Z",
      },
    },
    validateSearch: parseRulesSearch,
    component: createLazyView(async () => import("./rules-page.tsx"), "RulesPage"),
  }),
] as const;
