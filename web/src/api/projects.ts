import { queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { parseProjects } from "../lib/project.ts";
import { getJson } from "./http.ts";

const listPath: (typeof endpoints)["listProjects"]["path"] = "/sessions";

const refetchMs = 5_000;

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }) => parseProjects(await getJson(`${listPath}?limit=100`, signal)),
  refetchInterval: refetchMs,
});

/** Projects that have a text in their name; all of them without one. */
export const foundProjectsQuery = (name: string) =>
  queryOptions({
    queryKey: ["projects", "found", name],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: "500", ...(name && { name_contains: name }) });
      return parseProjects(await getJson(`${listPath}?${query}`, signal));
    },
  });
