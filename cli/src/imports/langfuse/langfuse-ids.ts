import { createStableId, keepOrCreateId } from "../target/stable-id.ts";

/**
 * Creates the ids of imported rows. A row keeps its own id if that is a UUID. Otherwise the new id is computed from the own
 * id and the project, so that each import creates the same one.
 */
export class LangfuseIds {
  readonly #namespace: string;
  /** The id of the project itself. */
  readonly project: string;

  constructor(projectId: string) {
    this.#namespace = createStableId(`https://langfuse.com/project/${projectId}`);
    this.project = this.#create("project", projectId);
  }

  trace(id: string): string {
    return this.#create("trace", id);
  }

  /** Ids of observations are unique only within a trace, and some clients gave a trace and an observation the same id. */
  observation(traceId: string, id: string): string {
    const name = `observation:${traceId}:${id}`;
    return id === traceId
      ? createStableId(name, this.#namespace)
      : keepOrCreateId(id, name, this.#namespace);
  }

  score(id: string): string {
    return this.#create("score", id);
  }

  dataset(id: string): string {
    return this.#create("dataset", id);
  }

  item(id: string): string {
    return this.#create("item", id);
  }

  #create(kind: string, id: string): string {
    return keepOrCreateId(id, `${kind}:${id}`, this.#namespace);
  }
}
