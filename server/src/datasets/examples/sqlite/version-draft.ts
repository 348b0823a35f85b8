import type { Dataset } from "../../dataset.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import type { SqliteDatasetVersions } from "./dataset-versions.ts";
import type { ExampleIndex } from "./example-index.ts";
import type { CurrentExample, ExampleRow, ExampleTable } from "./example-table.ts";

interface VersionDraftTables {
  readonly dataset: Dataset;
  readonly versions: SqliteDatasetVersions;
  readonly table: ExampleTable;
  readonly index: ExampleIndex;
}

/**
 * A dataset version that is being written. It adds rows that are valid from this version on, and ends others that are
 * no longer valid.
 */
export class VersionDraft {
  readonly micros: number;
  readonly #dependencies: VersionDraftTables;
  readonly #added: number[] = [];
  readonly #removed: number[] = [];

  constructor(dependencies: VersionDraftTables, requestedMicros?: number) {
    this.#dependencies = dependencies;
    this.micros = chooseVersionTime(dependencies.dataset.versionMicros, requestedMicros);
  }

  /** Adds a row that is valid from this version on. */
  add(row: Omit<ExampleRow, "fromMicros">): CurrentExample {
    const key = this.#dependencies.table.insert({ ...row, fromMicros: this.micros });
    this.#added.push(key);
    return {
      ...row,
      key,
      position: row.position ?? key,
      modifiedMicros: this.micros,
      datasetName: this.#dependencies.dataset.name,
    };
  }

  /** Ends the row with this key: from this version on, it is no longer valid. */
  end(key: number): void {
    this.#dependencies.table.end(key, this.micros);
    this.#removed.push(key);
  }

  /** Ends many rows. */
  endAll(keys: readonly number[]): void {
    this.#dependencies.table.endAll(keys, this.micros);
    keys.forEach((key) => this.#removed.push(key));
  }

  finish(): void {
    const { dataset, versions, table, index } = this.#dependencies;
    table.indexNewIds();
    index.change(dataset, { added: this.#added, removed: this.#removed });
    versions.addVersion(dataset, this.micros, this.#added.length - this.#removed.length);
  }
}
