import { createRouter } from "@tanstack/react-router";
import { PageLoading } from "../components/page/absent-view.tsx";
import { rootRoute } from "../components/page/root-route.ts";
import { datasetsRoutes } from "../features/datasets/routes.ts";
import { experimentsRoutes } from "../features/experiments/routes.ts";
import { feedbackRoutes } from "../features/feedback/routes.ts";
import { overviewRoutes } from "../features/overview/routes.ts";
import { projectsRoutes } from "../features/projects/routes.ts";
import { promptsRoutes } from "../features/prompts/routes.ts";
import { queuesRoutes } from "../features/queues/routes.ts";
import { settingsRoutes } from "../features/settings/routes.ts";
import { sharedRoutes } from "../features/shared/routes.ts";
import { traceRoutes } from "../features/trace/routes.ts";
import { sharedPageRoutes } from "./pages/routes.ts";
import { PageNotFound } from "./shell/page-not-found.tsx";
import { Shell } from "./shell/shell.tsx";
import { ViewFailure } from "./shell/view-failure.tsx";

rootRoute.update({ component: Shell, notFoundComponent: PageNotFound });

/** A view that loads faster than this replaces the previous one without a loading state. */
const pendingMs = 300;

// Each view is a separate chunk, which is loaded on demand. The main chunk contains only the routes.
export const router = createRouter({
  routeTree: rootRoute.addChildren([
    ...overviewRoutes,
    ...projectsRoutes,
    ...sharedPageRoutes,
    ...traceRoutes,
    ...datasetsRoutes,
    ...experimentsRoutes,
    ...feedbackRoutes,
    ...queuesRoutes,
    ...promptsRoutes,
    ...sharedRoutes,
    ...settingsRoutes,
  ]),
  // A view is mounted again when a path parameter changes, since its state belongs to the resource in the URL.
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
