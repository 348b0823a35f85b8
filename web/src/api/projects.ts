import { queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { parseProjects, parseProjectStats } from "../lib/project.ts";
import type { ProjectStats } from "../lib/project.ts";
import { getJson, postJson } from "./http.ts";

const listPath: (typeof endpoints)["listProjects"]["path"] = "/sessions";
const statsPath: (typeof endpoints)["runStats"]["path"] = "/runs/stats";

const refetchMs = 5_000;
const dayMs = 86_400_000;

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }) => parseProjects(await getJson(`${listPath}?limit=100`, signal)),
  refetchInterval: refetchMs,
});

/** Traces of the last day; all of a large store would take long to count. */
export const projectStatsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "stats"],
    queryFn: async ({ signal }): Promise<ProjectStats> => {
      const start_time = new Date(Date.now() - dayMs).toISOString();
      const body = { session: [projectId], is_root: true, start_time };
      return parseProjectStats(await postJson(statsPath, body, signal));
    },
    refetchInterval: refetchMs,
  });
