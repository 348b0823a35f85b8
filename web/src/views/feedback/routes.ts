import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const feedbackRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/feedback",
    component: lazyRouteComponent(async () => import("./feedback.tsx"), "Feedback"),
  }),
] as const;
