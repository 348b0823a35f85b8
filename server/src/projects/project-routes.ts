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

const tag = "projects";
const includeStats = "Whether the statistics of its runs are counted: true or false.";

/** Projects: what runs are filed under. */
export function addProjectRoutes(app: FastifyInstance, store: ProjectStore): void {
  app.route({
    ...route(endpoints.listProjects, {
      tag,
      summary: "Projects, by name.",
      query: {
        id: "Ids, any of which it has; may be repeated.",
        name: "Its name.",
        name_contains: "Part of its name, in either case.",
        reference_dataset: "The dataset that it is an experiment over; may be repeated.",
        reference_free: "true: no experiments; false: experiments alone.",
        metadata: "JSON object whose entries its metadata has.",
        include_stats: includeStats,
        sort_by: "name or start_time; by name, ascending, where it is left out.",
        sort_by_desc: "true: the last comes first, as where sort_by is given alone; or false.",
        limit: "At most so many; 100 where it is left out.",
        offset: "So many are skipped.",
      },
    }),
    handler: (request) => listProjects(store, request),
  });
  app.route({
    ...route(endpoints.readProject, {
      tag,
      summary: "One project.",
      query: { include_stats: includeStats },
    }),
    handler: (request) => readProject(store, request),
  });
  app.route<{ Body: ProjectBody }>({
    ...route(endpoints.createProject, {
      tag,
      summary: "Makes a project; 409 where the name is taken.",
      query: { upsert: "true: a project of that name is changed in place of the 409." },
      body: projectBody,
    }),
    handler: (request) => createProject(store, request.body, request),
  });
  app.route<{ Body: ProjectPatchBody }>({
    ...route(endpoints.updateProject, {
      tag,
      summary: "Changes what is given; null changes nothing.",
      body: projectPatchBody,
    }),
    handler: (request) => updateProject(store, request.body, request),
  });
  app.route({
    ...route(endpoints.deleteProject, { tag, summary: "Deletes a project and its runs." }),
    handler: (request, reply) => deleteProject(store, request, reply),
  });
  app.route({
    ...route(endpoints.deleteProjects, {
      tag,
      summary: "Deletes projects and their runs: all of them, or none.",
      query: { session_ids: "Ids; may be repeated." },
    }),
    handler: (request, reply) => deleteProjects(store, request, reply),
  });
}
