import type { LongWrite } from "../storage/long-write.ts";
import { isDeepStrictEqual } from "node:util";

type JsonObject = Readonly<Record<string, unknown>>;

/** A project, to which runs belong. The wire format calls it a session. */
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly description: string | null;
  readonly startMicros: number;
  readonly endMicros: number | null;
  readonly extra: JsonObject | null;
  readonly referenceDatasetId: string | null;
}

/** The fields of a project to update; `null` leaves a field unchanged. */
export interface ProjectChanges {
  readonly name: string | null;
  readonly description: string | null;
  readonly endMicros: number | null;
  readonly extra: JsonObject | null;
}

/** A project that is to be created. */
export interface ProjectDraft extends ProjectChanges {
  readonly name: string;
  readonly id: string;
  readonly startMicros: number;
  readonly referenceDatasetId: string | null;
  /** Whether to update an existing project with this name instead of failing. */
  readonly upsert: boolean;
}

/** The columns by which a list of projects can be sorted. */
export const projectSorts = ["name", "start_time"] as const;
/** The properties by which a list of projects can be sorted. */
export type ProjectColumn = (typeof projectSorts)[number];

/** Selects a page of the projects of a tenant. */
export interface ProjectQuery {
  readonly name?: string;
  readonly nameContains?: string;
  readonly ids?: readonly string[];
  readonly referenceDatasetIds?: readonly string[];
  /** `true` lists only projects that are not experiments, `false` only experiments. */
  readonly isReferenceFree?: boolean;
  /** Entries that the metadata must contain. */
  readonly metadata?: JsonObject;
  /** @defaultValue "name" */
  readonly sortBy?: ProjectColumn;
  readonly isDescending?: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface ProjectReads {
  find(tenantId: string, id: string): Promise<Project | undefined>;
  /** Lists projects by name, ascending, unless the query sets another order. */
  list(tenantId: string, query: ProjectQuery): Promise<readonly Project[]>;
}

export interface ProjectWrites {
  /** @throws RequestError 409: another project has the name or the id. */
  create(tenantId: string, draft: ProjectDraft): Promise<Project>;
  /** @throws RequestError 404: no such project. 409: another project has the new name. */
  update(tenantId: string, id: string, changes: ProjectChanges): Promise<Project>;
  /**
   * Deletes a project with its runs, in slices between which other writes run; the runs are deleted first.
   *
   * @throws RequestError 404: no such project.
   */
  delete(tenantId: string, id: string): Promise<void>;
  /**
   * Deletes several projects, or none if one does not exist.
   *
   * @throws RequestError 404: one does not exist.
   */
  deleteMany(tenantId: string, ids: readonly string[]): Promise<void>;
}

/**
 * The operations that each database engine implements for the writer of projects, because each engine stores runs in
 * its own way.
 */
export interface ProjectRuns {
  /** Deletes projects with their runs, in slices between which other writes run; the runs are deleted first. */
  deleteAll(tenantId: string, ids: readonly string[]): LongWrite<void>;
  /** Drops cached projects. Must be called after a project was changed. */
  clearCache(): void;
}

export const changeProject = (project: Project, changes: ProjectChanges): Project => ({
  ...project,
  name: changes.name ?? project.name,
  description: changes.description ?? project.description,
  endMicros: changes.endMicros ?? project.endMicros,
  extra: changes.extra ?? project.extra,
});

/** Returns the project that a draft describes, as it will be stored. */
export const createProjectFromDraft = (draft: ProjectDraft, tenantId: string): Project => {
  const { upsert: _upsert, ...project } = draft;
  return { ...project, tenantId };
};

/** Whether the metadata of a project or dataset contains all of these entries. */
export function hasMetadata({ extra }: Pick<Project, "extra">, entries: JsonObject): boolean {
  const metadata: unknown = extra?.["metadata"];
  const stored = typeof metadata === "object" && metadata !== null ? metadata : {};
  return Object.entries(entries).every(
    ([name, value]) =>
      Object.hasOwn(stored, name) && isDeepStrictEqual(Reflect.get(stored, name), value),
  );
}
