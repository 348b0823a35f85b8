import type { ExampleWriteEngine } from "./example-engine.ts";
import type { Dataset } from "../dataset.ts";
import { chooseVersionTime } from "../dataset-version.ts";
import type { DatasetVersions } from "../dataset-versions.ts";
import type { CurrentExample, ExampleRows, NewRow } from "./example-rows.ts";

interface VersionDraftParts {
  readonly rows: ExampleRows;
  readonly versions: DatasetVersions;
  readonly engine: ExampleWriteEngine;
}

/**
 * A dataset version that is being written. It adds rows that are valid from this version on, and ends others that are
 * no longer valid.
 */
export class VersionDraft {
  readonly micros: number;
  readonly #parts: VersionDraftParts;
  readonly #dataset: Dataset;
  readonly #added: number[] = [];
  readonly #removed: number[] = [];

  constructor(parts: VersionDraftParts, dataset: Dataset, requestedMicros?: number) {
    this.#parts = parts;
    this.#dataset = dataset;
    this.micros = chooseVersionTime(dataset.versionMicros, requestedMicros);
  }

  /** Adds rows that are valid from this version on. */
  async addAll(rows: readonly Omit<NewRow, "fromMicros">[]): Promise<readonly CurrentExample[]> {
    const newRows = rows.map((row) => ({ ...row, fromMicros: this.micros }));
    const firstKey = await this.#parts.rows.insertAll(newRows);
    return rows.map((row, index) => {
      const key = firstKey + index;
      this.#added.push(key);
      return {
        ...row,
        key,
        position: row.position ?? key,
        modifiedMicros: this.micros,
        datasetName: this.#dataset.name,
      };
    });
  }

  /** Ends the row with this key: from this version on, it is no longer valid. */
  async end(key: number): Promise<void> {
    await this.#parts.rows.end(key, this.micros);
    this.#removed.push(key);
  }

  async finish(): Promise<void> {
    const { versions, engine } = this.#parts;
    const [added, removed] = [this.#added, this.#removed];
    await engine.indexNewIds();
    await engine.updateTextIndex(this.#dataset, { added, removed });
    await versions.addVersion(this.#dataset, this.micros, added.length - removed.length);
  }
}
