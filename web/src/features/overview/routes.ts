import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const overviewRoutes = [
  createRoute({
    getParentRoute,
    path: "/",
    staticData: {
      page: {
        title: "Home",
        label: "Home",
        keys: "g h",
        icon: "M2.5 7.5 8 3l5.5 4.5V13H10V9.5H6V13H2.5Z",
      },
    },
    component: createLazyView(async () => import("./overview.tsx"), "Overview"),
  }),
] as const;
