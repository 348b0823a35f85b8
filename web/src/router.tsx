import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { parseRunsSearch } from "./lib/runs-search.ts";
import { Home } from "./views/home/home.tsx";
import { Project } from "./views/runs/project.tsx";
import { Shell } from "./views/shell.tsx";
import { Empty } from "./views/states.tsx";

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page." />,
});

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: "/", component: Home });

const projectRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/o/$tenantId/projects/p/$projectId",
  validateSearch: parseRunsSearch,
  component: Project,
});

export const router = createRouter({ routeTree: rootRoute.addChildren([homeRoute, projectRoute]) });

declare module "@tanstack/react-router" {
  interface Register {
    readonly router: typeof router;
  }
}
