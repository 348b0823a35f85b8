import { createRoute } from "@tanstack/react-router";
import { createLazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    staticData: {
      page: {
        title: "Projects",
        label: "Projects",
        keys: "g p",
        icon: "M2 4h4l1.5 2H14v7H2ZM4.5 9.5h7",
      },
    },
    validateSearch: parseProjectsSearch,
    component: createLazyView(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;

/** Search parameters in the URL of the project list. */
interface ProjectsSearch {
  /** Text that the name must contain. */
  readonly name?: string;
}

/**
 * Parses the search parameters of a URL. A name that is a number is converted to a string; any other name that is not
 * a string is left out.
 */
export function parseProjectsSearch(search: Readonly<Record<string, unknown>>): ProjectsSearch {
  const { name } = search;
  const text = typeof name === "number" ? String(name) : name;
  return typeof text === "string" && text !== "" ? { name: text.slice(0, 200) } : {};
}
