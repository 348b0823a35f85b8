import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import { parseProjectDetails, parseProjects, parseProjectStats } from "./project.ts";
import type { ProjectDetails, ProjectStats } from "./project.ts";

const listPath = endpointPath("/sessions");

const statsPath = endpointPath("/runs/stats");

const refetchIntervalMs = 5_000;
const statsRefetchIntervalMs = 30_000;
const hourMs = 3_600_000;

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async ({ signal }) => parseProjects(await getJson(`${listPath}?limit=100`, signal)),
  refetchInterval: refetchIntervalMs,
});

/** The projects whose names contain a text; with an empty text, all projects. At most 500. */
export const projectSearchQuery = (name: string) =>
  queryOptions({
    queryKey: ["projects", "search", name],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: "500", ...(name && { name_contains: name }) });
      return parseProjects(await getJson(`${listPath}?${query}`, signal));
    },
  });

const projectPath = (id: string): string => endpointPath("/sessions/:id", { id });

/** One project, with its description and metadata. */
export const projectQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "details"],
    queryFn: async ({ signal }) =>
      parseProjectDetails(await getJson(projectPath(projectId), signal)),
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
  await patchJson(projectPath(id), { name, description, extra: { ...extra, metadata } });
}

/** Deletes a project with its runs and their feedback. */
export const deleteProject = async (id: string): Promise<unknown> => deleteJson(projectPath(id));

/** Statistics of the traces of the last hour; those of all time would take long to compute in a large project. */
export const projectStatsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["projects", projectId, "stats"],
    queryFn: async ({ signal }): Promise<ProjectStats> => {
      const start_time = new Date(Date.now() - hourMs).toISOString();
      const body = { session: [projectId], is_root: true, start_time };
      return parseProjectStats(await postJson(statsPath, body, signal));
    },
    refetchInterval: statsRefetchIntervalMs,
  });
