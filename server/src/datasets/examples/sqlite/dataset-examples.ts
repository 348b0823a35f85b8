import { serverLimits } from "../../../model/options.ts";
import type { LongWrite } from "../../../storage/long-write.ts";
import { prepareQuery } from "../../../storage/sqlite/sqlite-database.ts";
import type { Dataset, DatasetExamplesWriter, DatasetUpdate } from "../../dataset.ts";
import { datasetDeletions, datasetQueries } from "../../dataset-queries.ts";
import type { LargeExampleWriter } from "./large-example-writer.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";

/** The writes to datasets that also write examples, for SQLite. */
export class SqliteDatasetExamplesWriter implements DatasetExamplesWriter {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #examples: LargeExampleWriter;

  constructor(dependencies: DatasetWriteDependencies, exampleWriter: LargeExampleWriter) {
    this.#dependencies = dependencies;
    this.#examples = exampleWriter;
    this.#eraseIncomplete();
  }

  updateDataset(tenantId: string, update: DatasetUpdate): LongWrite<Dataset> {
    return this.#examples.updateWith(tenantId, update);
  }

  /**
   * Erases rows of a dataset for `writeSliceMs`, so that other writes can run between two calls. Returns whether all
   * rows are erased.
   */
  eraseSome(datasetId: string): boolean {
    const { exampleRows, textIndex } = this.#dependencies;
    const endMs = performance.now() + serverLimits.writeSliceMs;
    let keys: readonly number[];
    do {
      keys = exampleRows.listKeys(datasetId, serverLimits.erasedPart);
      textIndex.remove(keys);
      exampleRows.erase(keys, datasetId);
    } while (keys.length > 0 && performance.now() < endMs);
    return keys.length === 0;
  }

  /** Erases the datasets whose upload or deletion was not complete when the process ended. */
  #eraseIncomplete(): void {
    const { db, textIndex } = this.#dependencies;
    const deletions = Object.values(datasetDeletions).map((query) => prepareQuery(db, query));
    for (const { id } of prepareQuery(db, datasetQueries.listIncomplete).all({})) {
      textIndex.clear(id);
      deletions.forEach((deletion) => deletion.run({ id }));
    }
  }
}
