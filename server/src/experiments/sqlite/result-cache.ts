import type { ComparedExperiment } from "../experiment.ts";

/**
 * Maximum number of results that a thread keeps. A comparison of 20 experiments on 10,000 examples needs half of them.
 * A result takes about 100 bytes.
 */
const maxResults = 400_000;

interface CachedExperiment {
  readonly version: number;
  readonly experiment: ComparedExperiment;
}

/** Caches the results of the most recently compared experiments, each for as long as its version stays the same. */
export class ResultCache {
  /** In the order of their last use: the most recently used experiment comes last. */
  readonly #entries = new Map<string, CachedExperiment>();
  readonly #maxResults: number;
  #resultCount = 0;

  constructor(limit = maxResults) {
    this.#maxResults = limit;
  }

  /** Returns the cached experiment if it has this version; otherwise loads and caches it. */
  read(key: string, version: number, load: () => ComparedExperiment): ComparedExperiment {
    const cached = this.#entries.get(key);
    if (cached !== undefined) {
      this.#remove(key, cached);
    }
    const experiment = cached?.version === version ? cached.experiment : load();
    this.#entries.set(key, { version, experiment });
    this.#resultCount += countResults(experiment);
    for (const [oldestKey, oldest] of this.#entries) {
      if (this.#resultCount <= this.#maxResults) {
        break;
      }
      this.#remove(oldestKey, oldest);
    }
    return experiment;
  }

  #remove(key: string, { experiment }: CachedExperiment): void {
    this.#entries.delete(key);
    this.#resultCount -= countResults(experiment);
  }
}

/** Returns the number of results plus 1, because an experiment without results takes memory, too. */
const countResults = ({ exampleIds }: ComparedExperiment): number => 1 + exampleIds.length;
