import type { LongWrite } from "../storage/long-write.ts";
import { isDeepStrictEqual } from "node:util";

type JsonObject = Readonly<Record<string, unknown>>;

/** A project: where runs are filed. */
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

/** What of a project can be written; `null` leaves it as it is. */
export interface ProjectChanges {
  readonly name: string | null;
  readonly description: string | null;
  readonly endMicros: number | null;
  readonly extra: JsonObject | null;
}

export interface ProjectDraft extends ProjectChanges {
  readonly name: string;
  readonly id: string;
  readonly startMicros: number;
  readonly referenceDatasetId: string | null;
  /** Whether a project of that name is changed in place of a refusal. */
  readonly upsert: boolean;
}

/** What a list of projects can be sorted by. */
export const projectSorts = ["name", "start_time"] as const;
export type ProjectColumn = (typeof projectSorts)[number];

export interface ProjectQuery {
  readonly name?: string;
  readonly nameContains?: string;
  readonly ids?: readonly string[];
  readonly referenceDatasetIds?: readonly string[];
  /** Whether it is no experiment. */
  readonly isReferenceFree?: boolean;
  /** Entries that its metadata has. */
  readonly metadata?: JsonObject;
  /** @defaultValue "name" */
  readonly sortBy?: ProjectColumn;
  readonly isDescending?: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface ProjectReads {
  find(tenantId: string, id: string): Project | undefined;
  /** By name, ascending, unless the query sets another order. */
  list(tenantId: string, query: ProjectQuery): readonly Project[];
}

export interface ProjectWrites {
  /** @throws RequestError 409: the name or the id is taken. */
  create(tenantId: string, draft: ProjectDraft): Project;
  /** @throws RequestError 404: no such project. 409: the new name is taken. */
  update(tenantId: string, id: string, changes: ProjectChanges): Project;
  /** Deletes its runs too, some at a time: they go first. @throws RequestError 404: no such project. */
  delete(tenantId: string, id: string): LongWrite<void>;
  /** The same of several; none where one is not there. @throws RequestError 404: one is not there. */
  deleteMany(tenantId: string, ids: readonly string[]): LongWrite<void>;
}

/** A project with what was given in place of what it had. */
export const changeProject = (project: Project, changes: ProjectChanges): Project => ({
  ...project,
  name: changes.name ?? project.name,
  description: changes.description ?? project.description,
  endMicros: changes.endMicros ?? project.endMicros,
  extra: changes.extra ?? project.extra,
});

export const draftProject = (draft: ProjectDraft, tenantId: string): Project => {
  const { upsert: _upsert, ...project } = draft;
  return { ...project, tenantId };
};

/** Whether metadata, as a project or dataset has it, has all the entries. */
export function hasMetadata({ extra }: Pick<Project, "extra">, entries: JsonObject): boolean {
  const metadata: unknown = extra?.["metadata"];
  const own = typeof metadata === "object" && metadata !== null ? metadata : {};
  return Object.entries(entries).every(
    ([name, value]) => Object.hasOwn(own, name) && isDeepStrictEqual(Reflect.get(own, name), value),
  );
}
