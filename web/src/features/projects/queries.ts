import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import { parseProjectDetails, parseProjects, parseProjectStats } from "./project.ts";
import type { ProjectDetails, ProjectStats } from "./project.ts";

const projectsPath = toEndpointPath("/sessions");

const statsPath = toEndpointPath("/runs/stats");

const refetchIntervalMs = 5_000;
const statsRefetchIntervalMs = 10_000;
const hourMs = 3_600_000;

/** At most 100 projects for the overview. Experiments are left out. */
export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }) =>
    parseProjects(await getJson(`${projectsPath}?limit=100&reference_free=true`, signal)),
  refetchInterval: refetchIntervalMs,
});

/** The projects whose names contain a text, at most 500. An empty text matches all projects. */
export const createProjectSearchQuery = (name: string) =>
  queryOptions({
    queryKey: ["projects", "search", name],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: "500", ...(name && { name_contains: name }) });
      return parseProjects(await getJson(`${projectsPath}?${query}`, signal));
    },
  });

const toProjectPath = (id: string): string => toEndpointPath("/sessions/:id", { id });

/** One project, with its description and metadata. */
export const createProjectQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "details"],
    queryFn: async ({ signal }) =>
      parseProjectDetails(await getJson(toProjectPath(projectId), signal)),
  });

/** Updates a project. Keeps the members of `extra` other than `metadata`. */
export async function updateProject(
  { id, extra }: ProjectDetails,
  changes: { readonly name: string; readonly description: string; readonly metadata: unknown },
): Promise<void> {
  const { name, description, metadata } = changes;
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw new TypeError("The metadata must be a JSON object.");
  }
  await patchJson(toProjectPath(id), { name, description, extra: { ...extra, metadata } });
}

/** Deletes a project with its runs and their feedback. */
export const deleteProject = async (id: string): Promise<unknown> => deleteJson(toProjectPath(id));

/** Statistics of the traces of the last hour. For a large project, statistics of all traces would take too long. */
export const createProjectStatsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "stats"],
    queryFn: async ({ signal }): Promise<ProjectStats> => {
      const start_time = new Date(Date.now() - hourMs).toISOString();
      const body = { session: [projectId], is_root: true, start_time };
      return parseProjectStats(await postJson(statsPath, body, signal));
    },
    refetchInterval: statsRefetchIntervalMs,
  });
