import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";
import { parseFeedbackSearch } from "./feedback-search.ts";

const getParentRoute = () => rootRoute;

export const feedbackRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/feedback",
    staticData: {
      page: {
        title: "Feedback",
        label: "Feedback",
        keys: "g f",
        icon: "M8 2.5l1.7 3.5 3.8.5-2.8 2.7.7 3.8L8 11.2 4.6 13l.7-3.8L2.5 6.5 6.3 6Z",
      },
    },
    validateSearch: parseFeedbackSearch,
    component: createLazyView(async () => import("./feedback-page.tsx"), "FeedbackPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/feedback/tokens/$token",
    component: createLazyView(async () => import("./feedback-form.tsx"), "FeedbackForm"),
  }),
] as const;
