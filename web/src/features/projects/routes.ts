import { createRoute } from "@tanstack/react-router";
import { lazyView } from "../../components/page/load-chunk.ts";
import { rootRoute } from "../../components/page/root-route.ts";

const getParentRoute = () => rootRoute;

export const projectsRoutes = [
  createRoute({
    getParentRoute,
    path: "/o/$tenantId/projects",
    validateSearch: parseProjectsSearch,
    component: lazyView(async () => import("./projects.tsx"), "Projects"),
  }),
] as const;

/** The state of the list of projects in the address. */
interface ProjectsSearch {
  /** What their names contain. */
  readonly name?: string;
}

/** Reads the query of an address; what is no text is left out. */
export function parseProjectsSearch(search: Readonly<Record<string, unknown>>): ProjectsSearch {
  const { name } = search;
  const text = typeof name === "number" ? String(name) : name;
  return typeof text === "string" && text !== "" ? { name: text.slice(0, 200) } : {};
}
