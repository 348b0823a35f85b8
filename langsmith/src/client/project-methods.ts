import { omitUndefined } from "../omit-undefined.ts";
import type { Any } from "../any.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type { KVMap, TracerSession, TracerSessionResult } from "../schemas.ts";
import { convert } from "./base-client.ts";
import { RunMethods } from "./run-methods.ts";
import { toProject } from "./to-langsmith.ts";

type Metadata = Record<string, Any> | null;

/** Arguments of `createProject`. */
export interface CreateProjectParams {
  projectName: string;
  description?: string | null;
  metadata?: Metadata;
  upsert?: boolean;
  projectExtra?: Metadata;
  referenceDatasetId?: string | null;
  numExamples?: number | null;
  numRepetitions?: number | null;
  evaluatorKeys?: string[] | null;
  tagValueIds?: string[] | null;
}

/** A project by id or name. */
interface ProjectSelector {
  projectId?: string;
  projectName?: string;
}

/** The part of the client for projects. */
export class ProjectMethods extends RunMethods {
  async createProject(params: CreateProjectParams): Promise<TracerSession> {
    const { projectName, description, metadata, upsert, projectExtra, referenceDatasetId } = params;
    if (params.tagValueIds) {
      throw createUnsupportedError("The option tagValueIds", "Put tags into the metadata.");
    }
    return toProject(
      await this.millrace.projects.create(
        omitUndefined({
          name: projectName,
          description: description ?? undefined,
          metadata: metadata ?? undefined,
          extra: projectExtra ?? undefined,
          referenceDatasetId: referenceDatasetId ?? undefined,
          upsert,
        }),
      ),
    );
  }

  async updateProject(
    projectId: string,
    changes: {
      name?: string | null;
      description?: string | null;
      metadata?: Metadata;
      projectExtra?: Metadata;
      endTime?: string | null;
    },
  ): Promise<TracerSession> {
    const { name, description, metadata, projectExtra, endTime } = changes;
    return toProject(
      await this.millrace.projects.update({
        projectId,
        ...omitUndefined({
          name: name ?? undefined,
          description: description ?? undefined,
          metadata: metadata ?? undefined,
          extra: projectExtra ?? undefined,
          endTime: endTime ?? undefined,
        }),
      }),
    );
  }

  async hasProject(project: ProjectSelector): Promise<boolean> {
    return this.millrace.projects.has(toProjectKey(project));
  }

  async readProject({
    includeStats,
    ...project
  }: ProjectSelector & { includeStats?: boolean }): Promise<TracerSessionResult> {
    return toProject(
      await this.millrace.projects.read({
        ...toProjectKey(project),
        ...omitUndefined({ includeStats }),
      }),
    );
  }

  async getProjectUrl(project: ProjectSelector): Promise<string> {
    return this.millrace.projects.url(toProjectKey(project));
  }

  async *listProjects(
    filter: {
      projectIds?: string[];
      name?: string;
      nameContains?: string;
      referenceDatasetId?: string;
      referenceDatasetName?: string;
      includeStats?: boolean;
      datasetVersion?: string;
      referenceFree?: boolean;
      metadata?: KVMap;
    } = {},
  ): AsyncIterable<TracerSessionResult> {
    const { name, referenceDatasetName, datasetVersion, ...others } = filter;
    if (datasetVersion !== undefined) {
      throw createUnsupportedError(
        "The filter datasetVersion of listProjects",
        "Use the filter metadata.",
      );
    }
    const referenceDatasetId =
      referenceDatasetName === undefined
        ? others.referenceDatasetId
        : (await this.millrace.datasets.read({ datasetName: referenceDatasetName })).id;
    yield* convert(
      this.millrace.projects.list(
        omitUndefined({ ...others, projectName: name, referenceDatasetId }),
      ),
      toProject,
    );
  }

  async deleteProject(project: ProjectSelector): Promise<void> {
    await this.millrace.projects.delete(toProjectKey(project));
  }
}

type ProjectKey = { readonly projectId: string } | { readonly projectName: string };

function toProjectKey({ projectId, projectName }: ProjectSelector): ProjectKey {
  if (projectId !== undefined) {
    return { projectId };
  }
  if (projectName !== undefined) {
    return { projectName };
  }
  throw new Error("Pass projectId or projectName.");
}
