import { createRouter } from "@tanstack/react-router";
import { PageLoading } from "../components/page/absent-view.tsx";
import { rootRoute } from "../components/page/root-route.ts";
import { routeTree } from "./routes.ts";
import { PageNotFound } from "./shell/page-not-found.tsx";
import { Shell } from "./shell/shell.tsx";
import { ViewFailure } from "./shell/view-failure.tsx";
import { basePath } from "../api/base-path.ts";

rootRoute.update({ component: Shell, notFoundComponent: PageNotFound });

/** A view that loads faster than this replaces the previous one without a loading state. */
const pendingMs = 300;

// Each view is a separate chunk, which is loaded on demand. The main chunk contains only the routes.
export const router = createRouter({
  routeTree,
  basepath: basePath === "" ? "/" : basePath,
  // Mount a view again when a path parameter changes, because its state belongs to the resource in the URL.
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
