import { rootRoute } from "../components/page/root-route.ts";
import { dashboardRoutes } from "../features/dashboard/routes.ts";
import { datasetsRoutes } from "../features/datasets/routes.ts";
import { experimentsRoutes } from "../features/experiments/routes.ts";
import { feedbackRoutes } from "../features/feedback/routes.ts";
import { jobsRoutes } from "../features/jobs/routes.ts";
import { overviewRoutes } from "../features/overview/routes.ts";
import { playgroundRoutes } from "../features/playground/routes.ts";
import { pricesRoutes } from "../features/prices/routes.ts";
import { projectsRoutes } from "../features/projects/routes.ts";
import { promptsRoutes } from "../features/prompts/routes.ts";
import { queuesRoutes } from "../features/queues/routes.ts";
import { rulesRoutes } from "../features/rules/routes.ts";
import { settingsRoutes } from "../features/settings/routes.ts";
import { sharedRoutes } from "../features/shared/routes.ts";
import { threadsRoutes } from "../features/threads/routes.ts";
import { traceRoutes } from "../features/trace/routes.ts";
import { viewsRoutes } from "../features/views/routes.ts";
import { sharedPageRoutes } from "./pages/routes.ts";

/** All routes. The navigation bar and the command palette list the pages in the order of these routes. */
const routes = [
  ...overviewRoutes,
  ...projectsRoutes,
  ...sharedPageRoutes,
  ...dashboardRoutes,
  ...threadsRoutes,
  ...viewsRoutes,
  ...traceRoutes,
  ...datasetsRoutes,
  ...experimentsRoutes,
  ...queuesRoutes,
  ...promptsRoutes,
  ...playgroundRoutes,
  ...rulesRoutes,
  ...feedbackRoutes,
  ...sharedRoutes,
  ...jobsRoutes,
  ...settingsRoutes,
  ...pricesRoutes,
] as const;

// A parser of search parameters leaves out invalid ones, but the router would add them to its result.
for (const { options } of routes as readonly { readonly options: SearchOptions }[]) {
  const parse = options.validateSearch;
  if (parse !== undefined) {
    options.validateSearch = (search) => ({
      ...Object.fromEntries(Object.keys(search).map((name) => [name, undefined])),
      ...parse(search),
    });
  }
}

interface SearchOptions {
  validateSearch?: (search: object) => object;
}

export const routeTree = rootRoute.addChildren(routes);
