import { createRouter } from "@tanstack/react-router";
import { datasetsRoutes } from "./views/datasets/routes.ts";
import { experimentsRoutes } from "./views/experiments/routes.ts";
import { feedbackRoutes } from "./views/feedback/routes.ts";
import { homeRoutes } from "./views/home/routes.ts";
import { hubRoutes } from "./views/hub/routes.ts";
import { projectsRoutes } from "./views/projects/routes.ts";
import { publicRoutes } from "./views/public/routes.ts";
import { queuesRoutes } from "./views/queues/routes.ts";
import { rootRoute } from "./views/root-route.tsx";
import { runsRoutes } from "./views/runs/routes.ts";
import { settingsRoutes } from "./views/settings/routes.ts";
import { traceRoutes } from "./views/trace/routes.ts";
import { PageLoading } from "./views/absent-view.tsx";
import { ViewFailure } from "./views/view-failure.tsx";

/** A view that comes sooner takes the place of the last one without a word. */
const pendingMs = 300;

// The page of each address is a chunk of its own; what is here is only where it lies.
export const router = createRouter({
  routeTree: rootRoute.addChildren([
    ...homeRoutes,
    ...projectsRoutes,
    ...runsRoutes,
    ...traceRoutes,
    ...datasetsRoutes,
    ...experimentsRoutes,
    ...feedbackRoutes,
    ...queuesRoutes,
    ...hubRoutes,
    ...publicRoutes,
    ...settingsRoutes,
  ]),
  // What a view holds, such as a selection, is of the thing that its address names.
  defaultRemountDeps: ({ params }) => params,
  defaultPendingMs: pendingMs,
  defaultPendingComponent: PageLoading,
  defaultErrorComponent: ViewFailure,
});

declare module "@tanstack/react-router" {
  interface Register {
    readonly router: typeof router;
  }
}
