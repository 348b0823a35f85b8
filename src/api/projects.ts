import { NotFoundError, ValidationError } from "../model/errors.ts";
import { definedOf, parseList } from "../model/fields.ts";
import { assertUuid, checkIds } from "../model/ids.ts";
import { projectUrl } from "../model/links.ts";
import { parseProject } from "../model/resources/project.ts";
import type { Project } from "../model/resources/project.ts";
import type { KeyValues } from "../model/run.ts";
import { assertChange } from "./http/assert-change.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { isFound } from "./http/is-found.ts";
import { pagesByIds, pagesByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import { toJson } from "./http/request.ts";

/** Which project: by its id or by its name, never both. */
export type ProjectKey =
  | { readonly projectId: string; readonly projectName?: undefined }
  | { readonly projectName: string; readonly projectId?: undefined };

/** Both `extra` and `metadata` given: `metadata` is a member of `extra`, and wins over one in it. */
export interface CreateProject extends CallOptions {
  readonly name: string;
  readonly description?: string | undefined;
  readonly extra?: KeyValues | undefined;
  readonly metadata?: KeyValues | undefined;
  /** The dataset that an experiment's runs are over. */
  readonly referenceDatasetId?: string | undefined;
  /** Whether a project that has the name already is the answer, in place of a conflict. @defaultValue false */
  readonly upsert?: boolean | undefined;
}

/** What {@link Projects.read} takes: which project, and what of it. */
export type ReadProject = ProjectKey &
  CallOptions & {
    /** Whether to count its runs. @defaultValue false */
    readonly includeStats?: boolean | undefined;
  };

/** What {@link Projects.update} takes: which project, and its new values. What is left out stays as it is. */
export type UpdateProject = ProjectKey &
  CallOptions & {
    /** The new name. */
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    /** Replaces what is there, `metadata` included. */
    readonly extra?: KeyValues | undefined;
    readonly metadata?: KeyValues | undefined;
    readonly endTime?: Date | string | undefined;
  };

/** Every filter that is given must hold. */
export interface ListProjects extends CallOptions {
  readonly projectIds?: readonly string[] | undefined;
  readonly projectName?: string | undefined;
  /** Part of the name, in either case. */
  readonly nameContains?: string | undefined;
  readonly referenceDatasetId?: string | undefined;
  /** `true` for projects that are no experiments, `false` for those that are. */
  readonly referenceFree?: boolean | undefined;
  /** Entries that its metadata has. */
  readonly metadata?: KeyValues | undefined;
  readonly includeStats?: boolean | undefined;
  /** Projects at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** Projects: where runs are filed. A run that names one makes it; these calls are for the rest. */
export class Projects {
  readonly #call: Call;
  readonly #host: string;

  /** @internal */
  constructor(call: Call, host: string) {
    this.#call = call;
    this.#host = host;
  }

  /**
   * Makes a project. Repeated, it is a conflict, unless `upsert` is set.
   *
   * @throws {@link ValidationError} the name is empty, or `referenceDatasetId` is not a UUID.
   * @throws {@link ConflictError} the name is taken.
   */
  async create(project: CreateProject): Promise<Project> {
    const { name, description, referenceDatasetId, upsert = false, signal } = project;
    assertName(name);
    if (referenceDatasetId !== undefined) {
      assertUuid(referenceDatasetId, "reference dataset id");
    }
    const json = definedOf({
      name,
      description,
      extra: extraOf(project),
      reference_dataset_id: referenceDatasetId,
    });
    const query = { upsert: upsert ? true : undefined };
    return parseProject(
      await this.#call("createProject", { json, query, signal, repeatable: upsert }),
    );
  }

  /**
   * @throws {@link ValidationError} neither id nor name, both, or an id that is not a UUID.
   * @throws {@link NotFoundError} `Project[...] not found`.
   */
  async read(key: ReadProject): Promise<Project> {
    assertKey(key);
    const { projectId: id, projectName: name, includeStats, signal } = key;
    if (id !== undefined) {
      return parseProject(
        await this.#responseOf(key, () =>
          this.#call("readProject", {
            path: { id },
            query: { include_stats: includeStats },
            signal,
          }),
        ),
      );
    }
    const query = { name, include_stats: includeStats, limit: 1 };
    const found = await this.#call("listProjects", { query, signal });
    const [project] = parseList(found, "projects", parseProject);
    if (project === undefined) {
      throw notFound(key);
    }
    return project;
  }

  /** Whether there is such a project. Every other failure is thrown, as by {@link Projects.read}. */
  has(key: ProjectKey & CallOptions): Promise<boolean> {
    return isFound(this.read(key));
  }

  /**
   * Projects by page, as they are consumed.
   *
   * @throws {@link ValidationError} an id is not a UUID, or `limit` not a whole number from 1.
   */
  list(filter: ListProjects = {}): Pages<Project> {
    const { projectIds: ids, referenceDatasetId, metadata, limit, signal } = filter;
    checkIds(ids, "project id");
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
    return pagesByIds(ids, limit, (id, wanted) =>
      pagesByOffset(wanted, async (page) => {
        const init = { query: { id, ...query, ...page }, signal };
        return parseList(await this.#call("listProjects", init), "projects", parseProject);
      }),
    );
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} neither id nor name of the project, both, nothing to change, an id that
   * is not a UUID, or a malformed time.
   * @throws {@link NotFoundError} `Project[...] not found`.
   * @throws {@link ConflictError} the new name is taken.
   */
  async update(changes: UpdateProject): Promise<Project> {
    assertKey(changes);
    const { name, description, endTime, signal } = changes;
    if (name !== undefined) {
      assertName(name);
    }
    const extra = extraOf(changes);
    const json = definedOf({ name, description, extra, end_time: isoOf(endTime) });
    assertChange(json, ["name", "description", "extra", "metadata", "endTime"]);
    const id = changes.projectId ?? (await this.read(toKey(changes))).id;
    return parseProject(
      await this.#responseOf(changes, () =>
        this.#call("updateProject", { path: { id }, json, signal }),
      ),
    );
  }

  /**
   * Deletes a project and its runs.
   *
   * @throws {@link ValidationError} neither id nor name, both, or an id that is not a UUID.
   * @throws {@link NotFoundError} `Project[...] not found`.
   */
  async delete(key: ProjectKey & CallOptions): Promise<void> {
    assertKey(key);
    const id = key.projectId ?? (await this.read(toKey(key))).id;
    await this.#responseOf(key, () =>
      this.#call("deleteProject", { path: { id }, signal: key.signal }),
    );
  }

  /** The address of its page; as {@link Projects.read}. */
  async url(key: ProjectKey & CallOptions): Promise<string> {
    const { id, tenantId } = await this.read(key);
    return projectUrl(this.#host, { tenantId, projectId: id });
  }

  async #responseOf(key: ProjectKey, ask: () => Promise<unknown>): Promise<unknown> {
    try {
      return await ask();
    } catch (error) {
      throw error instanceof NotFoundError ? notFound(key, error) : error;
    }
  }
}

/** Which project, and the end of the call, of options that hold more. */
const toKey = ({
  projectId,
  projectName,
  signal,
}: ProjectKey & CallOptions): ProjectKey & CallOptions =>
  projectId === undefined ? { projectName, signal } : { projectId, signal };

/** The texts are the specification's (section 5). */
function assertKey({ projectId, projectName }: ProjectKey): void {
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
    throw new ValidationError("The name of a project must be a text, not empty");
  }
}

/** The text begins with the specification's (section 8). */
function notFound(
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

const extraOf = ({
  extra,
  metadata,
}: Pick<CreateProject, "extra" | "metadata">): KeyValues | undefined =>
  metadata === undefined ? extra : { ...extra, metadata };

function isoOf(time: Date | string | undefined): string | undefined {
  if (time === undefined) {
    return undefined;
  }
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) {
    throw new ValidationError("endTime must be a Date, or a text that is a time");
  }
  return date.toISOString();
}
