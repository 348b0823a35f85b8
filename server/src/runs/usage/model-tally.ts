/** Maximum number of models that are counted by name. */
const maxModels = 500;
/** The name under which further models are counted. */
const otherModels = "(other models)";

/** Counts runs by model, for models without a known price. */
export class ModelTally {
  readonly #counts: Record<string, number>;

  constructor(counts: Readonly<Record<string, number>>) {
    this.#counts = { ...counts };
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  add(model: string): void {
    const counts = this.#counts;
    const isNew = !Object.hasOwn(counts, model);
    const name = isNew && Object.keys(counts).length >= maxModels ? otherModels : model;
    counts[name] = (counts[name] ?? 0) + 1;
  }
}
