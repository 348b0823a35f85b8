import type { ExampleWriteEngine } from "./example-engine.ts";
import type { Dataset } from "../dataset.ts";
import { chooseVersionTime } from "../dataset-version.ts";
import type { DatasetVersions } from "../dataset-versions.ts";
import type { CurrentExample, ExampleRows, NewExampleRow } from "./example-rows.ts";

interface VersionDraftDependencies {
  readonly rows: ExampleRows;
  readonly versions: DatasetVersions;
  readonly engine: ExampleWriteEngine;
}

/**
 * A dataset version that is being written. It inserts rows that are valid from this version on, and ends the rows that
 * are no longer valid.
 */
export class VersionDraft {
  readonly timeMicros: number;
  readonly #dependencies: VersionDraftDependencies;
  readonly #dataset: Dataset;
  readonly #addedKeys: number[] = [];
  readonly #removedKeys: number[] = [];

  constructor(dependencies: VersionDraftDependencies, dataset: Dataset, requestedMicros?: number) {
    this.#dependencies = dependencies;
    this.#dataset = dataset;
    this.timeMicros = chooseVersionTime(dataset.versionMicros, requestedMicros);
  }

  /** Inserts rows that are valid from this version on, and returns the examples that they contain. */
  async addAll(
    rows: readonly Omit<NewExampleRow, "fromMicros">[],
  ): Promise<readonly CurrentExample[]> {
    const newRows = rows.map((row) => ({ ...row, fromMicros: this.timeMicros }));
    const firstKey = await this.#dependencies.rows.insertAll(newRows);
    return rows.map((row, index) => {
      const key = firstKey + index;
      this.#addedKeys.push(key);
      return {
        ...row,
        key,
        position: row.position ?? key,
        modifiedMicros: this.timeMicros,
        datasetName: this.#dataset.name,
      };
    });
  }

  /** Ends the row with this key: from this version on, it is no longer valid. */
  async end(key: number): Promise<void> {
    await this.#dependencies.rows.end(key, this.timeMicros);
    this.#removedKeys.push(key);
  }

  /** Updates the indexes, and records the version. Call it after all rows were added and ended. */
  async finish(): Promise<void> {
    const { versions, engine } = this.#dependencies;
    const [added, removed] = [this.#addedKeys, this.#removedKeys];
    await engine.indexNewIds();
    await engine.updateTextIndex(this.#dataset, { added, removed });
    await versions.addVersion(this.#dataset, this.timeMicros, added.length - removed.length);
  }
}
