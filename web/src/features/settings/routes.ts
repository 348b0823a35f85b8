import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { parseAuditSearch } from "./audit/audit-search.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const settingsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/settings",
    staticData: {
      page: {
        title: "Settings",
        label: "Settings",
        keys: "g s",
        icon: "M2 4.5h6M12 4.5h2M10 2.5v4M2 11.5h2M8 11.5h6M6 9.5v4",
      },
    },
    component: createLazyView(async () => import("./settings.tsx"), "Settings"),
  }),
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/settings/audit",
    staticData: { page: { title: "Audit log", keys: "g a" } },
    validateSearch: parseAuditSearch,
    component: createLazyView(async () => import("./audit/audit.tsx"), "Audit"),
  }),
] as const;
