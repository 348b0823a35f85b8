import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const overviewRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    staticData: { page: { title: "Home", label: "Home", keys: "g h" } },
    component: createLazyView(async () => import("./overview.tsx"), "Overview"),
  }),
] as const;
