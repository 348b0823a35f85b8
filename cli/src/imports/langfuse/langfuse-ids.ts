import { createStableId, keepOrCreateId } from "../target/stable-id.ts";

/**
 * Creates the ids of imported rows. A row keeps its id if the id is a UUID. Otherwise the new id is derived from the
 * old id and the project, so every import creates the same id.
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

  /**
   * Returns the id of an observation. It is derived from the trace's id, too, because ids of observations are unique
   * only within a trace. Some clients use the same id for a trace and one of its observations; then a new id is
   * created.
   */
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
