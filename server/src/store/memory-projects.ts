import { randomUUID } from "node:crypto";
import { changeProject, draftProject, hasMetadata } from "./project.ts";
import type {
  Project,
  ProjectChanges,
  ProjectDraft,
  ProjectFate,
  ProjectQuery,
} from "./project.ts";

/** The projects of the store in memory, by id. */
export class MemoryProjects {
  readonly #tenantId: string;
  readonly #projects = new Map<string, Project>();

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  /** The id of the project of a name; it is made where there is none. */
  idOf(name: string): string {
    const known = this.#named(name);
    if (known !== undefined) {
      return known.id;
    }
    const project: Project = {
      id: randomUUID(),
      tenantId: this.#tenantId,
      name,
      description: null,
      startMicros: Date.now() * 1_000,
      endMicros: null,
      extra: null,
      referenceDatasetId: null,
    };
    this.#projects.set(project.id, project);
    return project.id;
  }

  find(id: string): Project | undefined {
    return this.#projects.get(id);
  }

  list(query: ProjectQuery): readonly Project[] {
    return [...this.#projects.values()]
      .filter((project) => matches(project, query))
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
      .slice(query.offset, query.offset + query.limit);
  }

  create(draft: ProjectDraft): ProjectFate {
    const known = this.#named(draft.name);
    if (known !== undefined) {
      return draft.upsert ? this.update(known.id, draft) : { kind: "taken", what: "name" };
    }
    if (this.#projects.has(draft.id)) {
      return { kind: "taken", what: "id" };
    }
    return this.#write(draftProject(draft, this.#tenantId));
  }

  update(id: string, changes: ProjectChanges): ProjectFate {
    const known = this.#projects.get(id);
    if (known === undefined) {
      return { kind: "missing" };
    }
    const other = changes.name === null ? undefined : this.#named(changes.name);
    return other !== undefined && other.id !== id
      ? { kind: "taken", what: "name" }
      : this.#write(changeProject(known, changes));
  }

  delete(id: string): boolean {
    return this.#projects.delete(id);
  }

  #write(project: Project): ProjectFate {
    this.#projects.set(project.id, project);
    return { kind: "written", project };
  }

  #named(name: string): Project | undefined {
    return [...this.#projects.values()].find((project) => project.name === name);
  }
}

function matches(project: Project, query: ProjectQuery): boolean {
  const { name, nameContains, ids, referenceDatasetIds, isReferenceFree, metadata } = query;
  const { referenceDatasetId } = project;
  return (
    (name === undefined || project.name === name) &&
    (nameContains === undefined ||
      project.name.toLowerCase().includes(nameContains.toLowerCase())) &&
    (ids === undefined || ids.includes(project.id)) &&
    (isReferenceFree === undefined || isReferenceFree === (referenceDatasetId === null)) &&
    (referenceDatasetIds === undefined || referenceDatasetIds.includes(referenceDatasetId ?? "")) &&
    (metadata === undefined || hasMetadata(project, metadata))
  );
}
