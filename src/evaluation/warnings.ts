/** Maximum number of different warnings that are kept. */
const maxWarnings = 100;

/** Collects warnings, each text once. */
export class Warnings {
  readonly #texts = new Set<string>();

  readonly add = (text: string): void => {
    if (this.#texts.size < maxWarnings) {
      this.#texts.add(text);
    }
  };

  get list(): readonly string[] {
    return [...this.#texts];
  }
}
