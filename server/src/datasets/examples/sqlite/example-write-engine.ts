import type { ExampleWriteEngine, FileOwner } from "../example-engine.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { Dataset } from "../../dataset.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import type { Attachment } from "../example.ts";

/** Implements for SQLite the writes to examples that each database engine implements itself. */
export class SqliteExampleWriteEngine implements ExampleWriteEngine {
  readonly #dependencies: DatasetWriteDependencies;

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
  }

  assignKeys(count: number): number {
    return this.#dependencies.exampleRows.assignKeys(count);
  }

  indexNewIds(): void {
    this.#dependencies.exampleRows.indexNewIds();
  }

  updateTextIndex(
    dataset: Dataset,
    keys: { readonly added: readonly number[]; readonly removed: readonly number[] },
  ): void {
    this.#dependencies.textIndex.update(dataset, keys);
  }

  copyRunFile(owner: FileOwner, runKey: string, name: string): Attachment | undefined {
    return this.#dependencies.exampleRows.copyRunFile(owner, runKey, name);
  }

  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): LongWrite<readonly string[]> {
    return new LongWrite(this.#deleteAll(tenantId, ids, mode));
  }

  /**
   * Removes the examples from the newest version in one step. A hard deletion then erases the rows of all versions in
   * slices. After a crash, the client can repeat the deletion to erase the remaining rows.
   */
  *#deleteAll(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): Generator<void, readonly string[]> {
    const { exampleRows, textIndex, versions } = this.#dependencies;
    const deletedIds: string[] = [];
    const rowKeys: number[] = [];
    const currentKeysByDataset = new Map<string, number[]>();
    for (const part of splitIntoParts(ids)) {
      const rows = exampleRows.findRows(tenantId, part);
      const deletableRows = mode === "soft" ? rows.filter(({ isCurrent }) => isCurrent) : rows;
      const deletableIds = new Set(deletableRows.map(({ id }) => id));
      deletedIds.push(...part.filter((id) => deletableIds.has(id)));
      for (const { key, datasetId, isCurrent } of rows) {
        rowKeys.push(key);
        if (isCurrent) {
          const currentKeys = currentKeysByDataset.get(datasetId) ?? [];
          currentKeys.push(key);
          currentKeysByDataset.set(datasetId, currentKeys);
        }
      }
      yield;
    }
    if (deletedIds.length === 0) {
      throw new RequestError(404, "Example not found");
    }
    for (const [datasetId, removed] of currentKeysByDataset) {
      const dataset = versions.readDataset(tenantId, datasetId);
      const micros = chooseVersionTime(dataset.versionMicros, undefined);
      exampleRows.endAll(removed, micros);
      textIndex.update(dataset, { added: [], removed });
      versions.addVersion(dataset, micros, -removed.length);
    }
    if (mode === "hard") {
      for (const part of splitIntoParts(rowKeys)) {
        yield;
        textIndex.remove(part);
        exampleRows.erase(part);
      }
    }
    return deletedIds;
  }
}

/** Splits items into parts. Each is small enough for one slice, even if the examples have large attachments. */
function* splitIntoParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += serverLimits.erasedPart) {
    yield items.slice(start, start + serverLimits.erasedPart);
  }
}
