import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

export const jobsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/o/$tenantId/jobs",
    staticData: { page: { title: "Jobs", keys: "g j" } },
    component: createLazyView(async () => import("./jobs.tsx"), "Jobs"),
  }),
] as const;
