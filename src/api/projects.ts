import { NotFoundError, ValidationError } from "../model/errors.ts";
import { omitUndefined, parseList } from "../model/fields.ts";
import { assertUuid, validateIds } from "../model/ids.ts";
import { createProjectUrl } from "../model/links.ts";
import { parseProject } from "../model/resources/project.ts";
import type { Project } from "../model/resources/project.ts";
import type { KeyValues } from "../model/run.ts";
import { assertChange } from "./http/assert-change.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { isFound } from "./http/is-found.ts";
import { toIsoTime } from "./http/iso-time.ts";
import { listByIds, listByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import { toJson } from "./http/request.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { CallTable } from "./http/known-arguments.ts";

/** Identifies a project by either its id or its name. */
export type ProjectKey =
  | { readonly projectId: string; readonly projectName?: undefined }
  | { readonly projectName: string; readonly projectId?: undefined };

/**
 * Arguments of {@link Projects.create}. `metadata` is stored as `extra.metadata`, and replaces a `metadata`
 * field of `extra`.
 */
export interface CreateProject extends CallOptions {
  readonly name: string;
  readonly description?: string | undefined;
  readonly extra?: KeyValues | undefined;
  readonly metadata?: KeyValues | undefined;
  /** If the project is an experiment: the dataset whose examples the experiment's runs process. */
  readonly referenceDatasetId?: string | undefined;
  /**
   * Whether to return the existing project if the name is taken, instead of throwing {@link ConflictError}.
   *
   * @defaultValue false
   */
  readonly upsert?: boolean | undefined;
}

/** Arguments of {@link Projects.read}. */
export type ReadProject = ProjectKey &
  CallOptions & {
    /** Whether to include statistics of the project's runs. @defaultValue false */
    readonly includeStats?: boolean | undefined;
  };

/**
 * Arguments of {@link Projects.update}: which project, and the new values. A field that is left out keeps its
 * value.
 */
export type UpdateProject = ProjectKey &
  CallOptions & {
    /** The new name. */
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    /** Replaces the whole `extra` object, including its `metadata`. */
    readonly extra?: KeyValues | undefined;
    readonly metadata?: KeyValues | undefined;
    readonly endTime?: Date | string | undefined;
  };

/** Filters of {@link Projects.list}. A project is listed if it matches all of them. */
export interface ListProjects extends CallOptions {
  readonly projectIds?: readonly string[] | undefined;
  readonly projectName?: string | undefined;
  /** Substring of the name, case-insensitive. */
  readonly nameContains?: string | undefined;
  readonly referenceDatasetId?: string | undefined;
  /** `true` lists only projects that are not experiments, `false` only experiments. @defaultValue both */
  readonly referenceFree?: boolean | undefined;
  /** Only projects whose metadata contains these entries. */
  readonly metadata?: KeyValues | undefined;
  readonly includeStats?: boolean | undefined;
  /** Maximum number of projects, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Projects group runs. Recording a run creates its project if needed, without any of these calls. */
export class Projects {
  readonly #call: Call;
  readonly #host: string;

  /** @internal */
  constructor(call: Call, host: string) {
    this.#call = call;
    this.#host = host;
  }

  /**
   * Creates a project. Repeating the call throws {@link ConflictError}, unless `upsert` is set.
   *
   * @throws {@link ValidationError} if the name is empty, or `referenceDatasetId` is not a UUID.
   * @throws {@link ConflictError} if the name is taken.
   */
  async create(project: CreateProject): Promise<Project> {
    const { name, description, referenceDatasetId, upsert = false, signal } = project;
    assertName(name);
    if (referenceDatasetId !== undefined) {
      assertUuid(referenceDatasetId, "reference dataset id");
    }
    const json = omitUndefined({
      name,
      description,
      extra: mergeMetadata(project),
      reference_dataset_id: referenceDatasetId,
    });
    const query = { upsert: upsert ? true : undefined };
    return parseProject(
      await this.#call("createProject", { json, query, signal, repeatable: upsert }),
    );
  }

  /**
   * Reads a project.
   *
   * @throws {@link ValidationError} if not exactly one of id and name is given, or the id is not a UUID.
   * @throws {@link NotFoundError} if there is no such project: `Project[...] not found`.
   */
  async read(key: ReadProject): Promise<Project> {
    assertProjectKey(key);
    const { projectId: id, projectName: name, includeStats, signal } = key;
    if (id !== undefined) {
      return parseProject(
        await this.#callForProject(key, () =>
          this.#call("readProject", {
            path: { id },
            query: { include_stats: includeStats },
            signal,
          }),
        ),
      );
    }
    const query = { name, include_stats: includeStats, limit: 1 };
    const response = await this.#call("listProjects", { query, signal });
    const [project] = parseList(response, "projects", parseProject);
    if (project === undefined) {
      throw createProjectNotFound(key);
    }
    return project;
  }

  /**
   * Returns whether the project exists. Any failure other than {@link NotFoundError} is thrown, as by
   * {@link Projects.read}.
   */
  has(key: ProjectKey & CallOptions): Promise<boolean> {
    return isFound(this.read(key));
  }

  /**
   * Lists projects. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if an id is not a UUID, or `limit` is not a whole number of at least 1.
   */
  list(filter: ListProjects = {}): Pages<Project> {
    const { projectIds: ids, referenceDatasetId, metadata, limit, signal } = filter;
    validateIds(ids, "project id");
    if (referenceDatasetId !== undefined) {
      assertUuid(referenceDatasetId, "reference dataset id");
    }
    const query = {
      name: filter.projectName,
      name_contains: filter.nameContains,
      reference_dataset: referenceDatasetId,
      reference_free: filter.referenceFree,
      metadata: metadata && toJson("list projects", metadata),
      include_stats: filter.includeStats,
    };
    return listByIds(ids, limit, (chunkOfIds, remaining) =>
      listByOffset(remaining, async (page) => {
        const init = { query: { id: chunkOfIds, ...query, ...page }, signal };
        return parseList(await this.#call("listProjects", init), "projects", parseProject);
      }),
    );
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if not exactly one of the project's id and name is given, no field to
   * change is given, the id is not a UUID, or a time is malformed.
   * @throws {@link NotFoundError} if there is no such project: `Project[...] not found`.
   * @throws {@link ConflictError} if the new name is taken.
   */
  async update(changes: UpdateProject): Promise<Project> {
    assertProjectKey(changes);
    const { name, description, endTime, signal } = changes;
    if (name !== undefined) {
      assertName(name);
    }
    const extra = mergeMetadata(changes);
    const json = omitUndefined({
      name,
      description,
      extra,
      end_time: toIsoTime(endTime, "endTime"),
    });
    assertChange(json, ["name", "description", "extra", "metadata", "endTime"]);
    const id = await resolveProjectId(this, changes);
    return parseProject(
      await this.#callForProject(changes, () =>
        this.#call("updateProject", { path: { id }, json, signal }),
      ),
    );
  }

  /**
   * Deletes a project and its runs.
   *
   * @throws {@link ValidationError} if not exactly one of id and name is given, or the id is not a UUID.
   * @throws {@link NotFoundError} if there is no such project: `Project[...] not found`.
   */
  async delete(key: ProjectKey & CallOptions): Promise<void> {
    const id = await resolveProjectId(this, key);
    await this.#callForProject(key, () =>
      this.#call("deleteProject", { path: { id }, signal: key.signal }),
    );
  }

  /**
   * Returns the URL of the project in the UI. Reads the project first, and throws as {@link Projects.read}
   * does.
   */
  async url(key: ProjectKey & CallOptions): Promise<string> {
    const { id, tenantId } = await this.read(key);
    return createProjectUrl(this.#host, { tenantId, projectId: id });
  }

  /**
   * Sends a request. If the project does not exist, throws an error with this client's message instead of the server's.
   */
  async #callForProject(key: ProjectKey, request: () => Promise<unknown>): Promise<unknown> {
    try {
      return await request();
    } catch (error) {
      throw error instanceof NotFoundError ? createProjectNotFound(key, error) : error;
    }
  }
}

/**
 * Returns the id of a project. Reads the project only if `key` contains its name instead of its id.
 *
 * @throws as {@link Projects.read}.
 */
export async function resolveProjectId(
  projects: Pick<Projects, "read">,
  key: ProjectKey & CallOptions,
): Promise<string> {
  assertProjectKey(key);
  return key.projectId ?? (await projects.read(toProjectKey(key))).id;
}

/** Copies only the project's id or name and the signal from options that may have more fields. */
const toProjectKey = ({
  projectId,
  projectName,
  signal,
}: ProjectKey & CallOptions): ProjectKey & CallOptions =>
  projectId === undefined ? { projectName, signal } : { projectId, signal };

/**
 * Checks that exactly one of the project's id and name is given, and that it is valid. If neither or both are
 * given, the messages are the same as in LangSmith's client, because programs may compare them.
 */
function assertProjectKey({ projectId, projectName }: ProjectKey): void {
  if (projectId !== undefined && projectName !== undefined) {
    throw new ValidationError("Must provide either projectName or projectId, not both");
  }
  if (projectId === undefined && projectName === undefined) {
    throw new ValidationError("Must provide projectName or projectId");
  }
  if (projectId === undefined) {
    assertName(projectName);
  } else {
    assertUuid(projectId, "project id");
  }
}

function assertName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ValidationError("The name of a project must be a non-empty string");
  }
}

/**
 * Creates the error for a missing project. Its message begins like the message of LangSmith's client for this case,
 * because programs may compare the beginning.
 */
function createProjectNotFound(
  { projectId: id, projectName: name }: ProjectKey,
  cause?: NotFoundError,
): NotFoundError {
  const label = id === undefined ? `name=${name}` : `id=${id}`;
  return new NotFoundError({
    action: "read project",
    status: 404,
    body: "",
    message: `Project[${label}] not found. ${id === undefined ? `Create it with client.projects.create({ name: ${JSON.stringify(name)} }), or check` : "Check the id,"} the endpoint and the tenant of the key`,
    cause,
    requestId: cause?.requestId,
  });
}

const mergeMetadata = ({
  extra,
  metadata,
}: Pick<CreateProject, "extra" | "metadata">): KeyValues | undefined =>
  metadata === undefined ? extra : { ...extra, metadata };

/** The option names of {@link ProjectKey}. */
export const projectKeyNames = { projectId: true, projectName: true } as const;

/** The option names that each method accepts. */
export const projectCalls: CallTable<Projects> = {
  create: {
    args: [
      {
        ...callOptionKeys,
        name: true,
        description: true,
        extra: true,
        metadata: true,
        referenceDatasetId: true,
        upsert: true,
      },
    ],
  },
  read: { args: [{ ...callOptionKeys, ...projectKeyNames, includeStats: true }] },
  has: { args: [{ ...callOptionKeys, ...projectKeyNames }] },
  list: {
    args: [
      {
        ...callOptionKeys,
        projectIds: true,
        projectName: true,
        nameContains: true,
        referenceDatasetId: true,
        referenceFree: true,
        metadata: true,
        includeStats: true,
        limit: true,
      },
    ],
    throws: true,
  },
  update: {
    args: [
      {
        ...callOptionKeys,
        ...projectKeyNames,
        name: true,
        description: true,
        extra: true,
        metadata: true,
        endTime: true,
      },
    ],
  },
  delete: { args: [{ ...callOptionKeys, ...projectKeyNames }] },
  url: { args: [{ ...callOptionKeys, ...projectKeyNames }] },
};
