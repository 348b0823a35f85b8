import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseFeedbackSearch } from "./feedback-search.ts";

const getParentRoute = () => rootRoute;

export const feedbackRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/feedback",
    staticData: { page: { title: "Feedback", label: "Feedback", keys: "g f" } },
    validateSearch: parseFeedbackSearch,
    component: createLazyView(async () => import("./feedback-page.tsx"), "FeedbackPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/feedback/tokens/$token",
    component: createLazyView(async () => import("./feedback-form.tsx"), "FeedbackForm"),
  }),
] as const;
