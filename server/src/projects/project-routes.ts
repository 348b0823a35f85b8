import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import {
  createProject,
  deleteProject,
  deleteProjects,
  listProjects,
  projectBody,
  projectPatchBody,
  readProject,
  updateProject,
} from "./project-handlers.ts";
import type { ProjectBody, ProjectPatchBody } from "./project-handlers.ts";
import { route } from "../http/route.ts";
import type { ProjectStore } from "./project-store.ts";
import {
  deletedProjectsSchema,
  projectMaybeWithStatsSchema,
  projectListSchema,
  projectSchema,
} from "./project-schemas.ts";
import { Deleted } from "../http/schema-parts.ts";

const apiTag = "projects";
const includeStatsDescription = "true to include statistics of the runs.";

/** Routes of projects, to which runs belong. */
export function addProjectRoutes(app: FastifyInstance, store: ProjectStore): void {
  app.route({
    ...route(endpoints.listProjects, {
      tag: apiTag,
      summary: "Lists projects, by default ordered by name.",
      query: {
        id: "Project id; may be repeated.",
        name: "Exact name.",
        name_contains: "Part of the name, case-insensitive.",
        reference_dataset: "Id of a dataset; only experiments on it. May be repeated.",
        reference_free: "true for projects that are not experiments, false for experiments only.",
        metadata: "JSON object; the metadata must contain all of its entries.",
        include_stats: includeStatsDescription,
        sort_by: "name or start_time; by default name, ascending.",
        sort_by_desc:
          "true to sort in descending order, or false. Default true if sort_by is passed, otherwise false.",
        limit: "Maximum number of items; default 100.",
        offset: "Number of items to skip.",
      },
      response: projectListSchema,
    }),
    handler: (request) => listProjects(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readProject, {
      tag: apiTag,
      summary: "Reads a project.",
      query: { include_stats: includeStatsDescription },
      response: projectMaybeWithStatsSchema,
    }),
    handler: (request) => readProject(store.forRequest(request), request),
  });
  app.route<{ Body: ProjectBody }>({
    ...route(endpoints.createProject, {
      tag: apiTag,
      summary: "Creates a project; 409 if the name is taken.",
      query: {
        upsert: "true to update an existing project of that name instead of returning 409.",
      },
      body: projectBody,
      response: projectSchema,
    }),
    handler: (request) => createProject(store.forRequest(request), request.body, request),
  });
  app.route<{ Body: ProjectPatchBody }>({
    ...route(endpoints.updateProject, {
      tag: apiTag,
      summary: "Updates the given fields; null leaves a field unchanged.",
      body: projectPatchBody,
      response: projectSchema,
    }),
    handler: (request) => updateProject(store.forRequest(request), request.body, request),
  });
  app.route({
    ...route(endpoints.deleteProject, {
      tag: apiTag,
      summary: "Deletes a project and its runs.",
      response: Deleted,
    }),
    handler: (request, reply) => deleteProject(store.forRequest(request), request, reply),
  });
  app.route({
    ...route(endpoints.deleteProjects, {
      tag: apiTag,
      summary: "Deletes projects and their runs: all of them, or none.",
      query: { session_ids: "Project id; may be repeated." },
      response: deletedProjectsSchema,
    }),
    handler: (request, reply) => deleteProjects(store.forRequest(request), request, reply),
  });
}
