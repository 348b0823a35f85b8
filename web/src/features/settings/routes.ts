import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const settingsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/settings",
    staticData: { page: { title: "Settings", label: "Settings", keys: "g s" } },
    component: createLazyView(async () => import("./settings.tsx"), "Settings"),
  }),
] as const;
