import { createRoute } from "@tanstack/react-router";
import { parseFeedbackSearch } from "../../lib/feedback-search.ts";
import { lazyView } from "../lazy-view.ts";
import { rootRoute } from "../root-route.tsx";

const getParentRoute = () => rootRoute;

export const feedbackRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/feedback",
    validateSearch: parseFeedbackSearch,
    component: lazyView(async () => import("./feedback.tsx"), "Feedback"),
  }),
  createRoute({
    getParentRoute,
    path: "/feedback/tokens/$token",
    component: lazyView(async () => import("./feedback-form.tsx"), "FeedbackForm"),
  }),
] as const;
